//! `schema`: prints the JSON Schemas of the input and output.

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::{DONE, Failure};
use ckpt_schema::documents;
use ckpt_store::Error;
use ckpt_store::error::Context;
use serde_json::Value;

/// Prints the schema of one document or of all, byte for byte as in the repository.
pub fn run(invocation: &Invocation, name: Option<&str>) -> Result<u8, Failure> {
    let Some(name) = name else {
        invocation.output.bytes(documents::ALL.as_bytes())?;
        return Ok(DONE);
    };
    let all: Value =
        serde_json::from_str(documents::ALL).context(|| "the built-in schemas are not JSON")?;
    let Some(schema) = documents::document(&all, name) else {
        let names = documents::names(&all).join(", ");
        return Err(Failure::usage(
            format!("there is no document `{name}`"),
            format!("the documents are {names}"),
        ));
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Error::failed("cannot write the schema").because(error))?;
    invocation.output.bytes(format!("{text}\n").as_bytes())?;
    Ok(DONE)
}
