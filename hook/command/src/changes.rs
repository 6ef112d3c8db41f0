//! Changes in the form that was asked for: names, a summary, a patch, both sides next to each other, or a page.

use std::path::{Path, PathBuf};

use ckpt_output::html::{self, Section, Top};
use ckpt_output::lines::{self, DiffOptions, MovedLines};
use ckpt_output::paint::Paint;
use ckpt_output::patch::{self, FileSides};
use ckpt_output::{View, columns, diff, hunk};
use ckpt_process::failure::Failure;
use ckpt_schema::report::ChangeReport;
use ckpt_store::query::BlobReader;
use clap::Args;

use crate::invocation::Invocation;
use crate::named_file::{self, Existing};
use crate::pager::Pages;

/// No side larger than this, in bytes, is shown line by line.
const LARGEST_SIDE: usize = 16 << 20;

/// The most files in which moved lines are searched.
const MOVED_FILES_LIMIT: usize = 200;

/// The presentation of changes.
#[derive(Clone, Debug, Default, Args)]
pub struct ChangesArguments {
    /// Show a patch that `git apply` accepts
    #[arg(short, long)]
    pub patch: bool,
    /// Show one line per file, with its additions and deletions
    #[arg(long, conflicts_with = "patch")]
    pub stat: bool,
    /// Show only the names
    #[arg(long, group = "names", conflicts_with_all = ["patch", "stat"])]
    pub name_only: bool,
    /// Show only the names, each with a letter: A, M, D, T, and R with a percentage for a rename
    #[arg(long, group = "names", conflicts_with_all = ["patch", "stat", "name_only"])]
    pub name_status: bool,
    /// End each name with a NUL byte and do not quote it, for programs: with --name-only or --name-status
    #[arg(short = 'z', requires = "names")]
    pub raw: bool,
    /// Show a patch with this many lines around a change [default: 3]
    #[arg(
        short = 'U',
        long = "unified",
        value_name = "COUNT",
        allow_negative_numbers = true,
        conflicts_with_all = ["stat", "names", "html"]
    )]
    pub context: Option<usize>,
    /// Ignore white space; the patch is for reading only
    #[arg(short = 'w', long, conflicts_with_all = ["stat", "names", "html"])]
    pub ignore_all_space: bool,
    /// Mark single words: [-gone-] and {+come+}
    #[arg(long, conflicts_with_all = ["stat", "names", "html"])]
    pub word_diff: bool,
    /// Show the two sides next to each other
    #[arg(short = 'y', long, conflicts_with_all = ["word_diff", "stat", "names", "html"])]
    pub side_by_side: bool,
    /// Write one self-contained page to read in a browser, with the two sides next to each other
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "stat", "names"])]
    pub html: Option<PathBuf>,
    /// Replace the file of --html if it is there already
    #[arg(long, requires = "html")]
    pub force: bool,
}

impl ChangesArguments {
    /// Returns whether lines are asked for.
    pub fn wants_lines(&self) -> bool {
        self.patch
            || self.context.is_some()
            || self.word_diff
            || self.side_by_side
            || self.ignore_all_space
    }
}

/// Shows changes.
pub struct ChangesView<'a> {
    /// The streams and settings of the command.
    pub invocation: &'a Invocation,
    /// Where contents are read.
    pub blobs: &'a BlobReader,
    /// The form that was asked for.
    pub arguments: &'a ChangesArguments,
}

impl ChangesView<'_> {
    /// Returns whether names are asked for, with nothing around them.
    pub fn are_names(&self) -> bool {
        self.arguments.name_only || self.arguments.name_status
    }

    /// Writes the names.
    pub fn names(&self, files: &[ChangeReport], pages: &mut Pages<'_>) -> Result<(), Failure> {
        let (raw, view) = (self.arguments.raw, self.invocation.output.view());
        pages.bytes(&match self.arguments.name_status {
            true => diff::name_status(files, raw, view),
            false => diff::names(files, raw, view),
        })
    }

    /// Writes the patch file by file, so that a large one does not need much memory.
    pub fn patch(&self, files: &[ChangeReport], pages: &mut Pages<'_>) -> Result<(), Failure> {
        let look = look(self.arguments);
        let view = self.invocation.output.view();
        let moved = self.moved(files, &look)?;
        let style = patch::style(view, look, &moved);
        for change in diff::whole(files) {
            if pages.is_over() {
                break;
            }
            let sides = self.sides(&change)?;
            match &sides {
                FileSides::Text { old, new } if look.columns => {
                    let mut head = diff::listing(std::slice::from_ref(&change), view).into_bytes();
                    head.extend(columns::render(old, new, &style, view.width));
                    pages.bytes(&head)?;
                }
                _ if look.columns => {
                    let line = diff::listing(std::slice::from_ref(&change), view);
                    let why = match &sides {
                        FileSides::Bytes { why, .. } => format!("  {why}\n"),
                        FileSides::Missing => {
                            "  No snapshot holds all of its contents\n".to_owned()
                        }
                        FileSides::Equal | FileSides::Text { .. } => String::new(),
                    };
                    pages.text(&(line + &why))?;
                }
                _ => pages.bytes(&patch::file(&change, &sides, &style))?,
            }
        }
        Ok(())
    }

    /// Returns the patch without colours, or `None` if it is longer than this many bytes.
    pub fn plain_patch(
        &self,
        files: &[ChangeReport],
        most: usize,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let moved = MovedLines::default();
        let view = View {
            paint: Paint::PLAIN,
            width: None,
            ..*self.invocation.output.view()
        };
        let style = patch::style(&view, look(self.arguments), &moved);
        let mut text = Vec::new();
        for change in diff::whole(files) {
            let sides = self.sides(&change)?;
            text.extend(patch::file(&change, &sides, &style));
            if text.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(text))
    }

    /// Writes a page to a file.
    pub fn page(&self, top: &Top, files: &[ChangeReport], to: &Path) -> Result<(), Failure> {
        let section = self.section(Top::default(), files.to_vec())?;
        self.write_page(top, vec![section], to)
    }

    /// Returns changes as a part of a page.
    pub fn section(&self, top: Top, files: Vec<ChangeReport>) -> Result<Section, Failure> {
        let mut sides = Vec::new();
        for change in diff::whole(&files) {
            let both = self.sides(&change)?;
            sides.push((change, both));
        }
        Ok(Section { top, files, sides })
    }

    /// Writes a page of some parts to a file.
    pub fn write_page(&self, top: &Top, sections: Vec<Section>, to: &Path) -> Result<(), Failure> {
        let page = html::page(top, &sections, self.invocation.output.view());
        let to = self.invocation.surroundings.absolute(to)?;
        Ok(named_file::write(
            &to,
            page.as_bytes(),
            named_file::PRIVATE,
            Existing::asked(self.arguments.force),
        )?)
    }

    /// Only colours tell what moved.
    fn moved(&self, files: &[ChangeReport], look: &DiffOptions) -> Result<MovedLines, Failure> {
        let mut moved = MovedLines::default();
        if !self.invocation.output.view().paint.is_on() || files.len() > MOVED_FILES_LIMIT {
            return Ok(moved);
        }
        for change in diff::whole(files) {
            if let FileSides::Text { old, new } = self.sides(&change)? {
                moved.add(&lines::difference(&old, &new, look));
            }
        }
        Ok(moved)
    }

    /// Reads both sides of a change.
    pub fn sides(&self, change: &ChangeReport) -> Result<FileSides, Failure> {
        let is_missing = |blob: &Option<String>, mode: &Option<String>| {
            blob.is_none() && mode.is_some() && !patch::is_directory(mode.as_deref())
        };
        if is_missing(&change.old_blob, &change.old_mode)
            || is_missing(&change.new_blob, &change.new_mode)
        {
            return Ok(FileSides::Missing);
        }
        if change.old_blob == change.new_blob && patch::is_of_one_kind(change) {
            return Ok(FileSides::Equal);
        }
        let side = |blob: &Option<String>, mode: &Option<String>| match blob {
            Some(blob) if !patch::is_directory(mode.as_deref()) => self.blobs.read(blob),
            _ => Ok(Vec::new()),
        };
        let old = side(&change.old_blob, &change.old_mode)?;
        let new = side(&change.new_blob, &change.new_mode)?;
        let why = if change.binary {
            Some("Binary files differ")
        } else if old.len().max(new.len()) > LARGEST_SIDE {
            Some("The file is too large to be shown line by line")
        } else {
            None
        };
        if let Some(why) = why {
            return Ok(FileSides::Bytes { old, new, why });
        }
        Ok(FileSides::Text { old, new })
    }
}

fn look(arguments: &ChangesArguments) -> DiffOptions {
    DiffOptions {
        context: arguments.context.unwrap_or(hunk::CONTEXT),
        ignore_space: arguments.ignore_all_space,
        words: arguments.word_diff,
        columns: arguments.side_by_side,
    }
}
