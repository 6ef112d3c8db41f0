//! Enums whose values are words: in documents, in rows, on the command line.

/// A value that is written as a word.
pub trait Word: Copy + 'static {
    /// Every value.
    const ALL: &'static [Self];

    /// Returns the word.
    fn text(self) -> &'static str;

    /// Returns the value with that word.
    fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|value| value.text() == name)
    }
}

/// Defines an enum of words: each value stands beside its word.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_value:meta])* $value:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of_value])* $value,)+
        }

        impl $name {
            /// Returns the word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl $crate::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn text(self) -> &'static str {
                self.name()
            }
        }
    };
}
