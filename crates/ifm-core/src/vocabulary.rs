//! Enumerations whose variants are words: one list says the variant, its meaning and its word.
//!
//! Not here: enumerations whose words follow from something else, such as metrics.

/// Defines an enumeration of plain variants, each with its word, and with it `ALL`, `word` and
/// `from_word`. After a semicolon, one variant that carries data may follow: it has a word, and
/// is not on the list.
#[macro_export]
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident = $word:literal,)+
            $(; $(#[$about:meta])* $other:ident($what:ty) = $called:literal)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$of])* $variant,)+ $($(#[$about])* $other($what))? }

        // Not every list is walked through, and not every word is read back.
        #[allow(dead_code)]
        impl $name {
            /// Every one, in the order in which they are listed.
            $vis const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// The word, as it is stored and shown.
            $vis fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ $($name::$other(_) => $called)? }
            }

            /// The one of a word, or `None` for a word that is not on the list.
            $vis fn from_word(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|one| one.word() == word)
            }
        }
    };
}

/// Stores a type that has `word` and `from_word` as its word. The noun is that of the message for
/// a word that is not on the list.
macro_rules! stored_as_word {
    ($name:ident, $noun:literal) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                let unknown = || serde::de::Error::custom(format!("unknown {}: {word}", $noun));
                $name::from_word(&word).ok_or_else(unknown)
            }
        }
    };
}

pub(crate) use stored_as_word;
