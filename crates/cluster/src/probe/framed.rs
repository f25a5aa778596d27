//! Several messages in the bytes of one input: of each two bytes with its length, then the message.

/// The messages, one after the other, up to one that is cut.
pub(super) struct Framed<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Framed<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (message, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.0 = rest;
        Some(message)
    }
}

/// Messages in this form.
pub fn framed(messages: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let one = |message: Vec<u8>| [&(message.len() as u16).to_le_bytes()[..], &message].concat();
    messages.into_iter().flat_map(one).collect()
}
