//! Replies, in the form that the client has asked for.

/// RESP2 unless the client asks for RESP3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Two,
    Three,
}

/// What goes out to a client.
pub(super) struct Replies {
    pub(super) protocol: Protocol,
    pub(super) bytes: Vec<u8>,
}

impl Replies {
    pub(super) fn simple(&mut self, text: &str) {
        self.line('+', text);
    }

    /// The first word is a code in capitals.
    pub(super) fn error(&mut self, text: &str) {
        self.line('-', text);
    }

    pub(super) fn integer(&mut self, number: i64) {
        self.line(':', &number.to_string());
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.line('$', &bytes.len().to_string());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(super) fn nothing(&mut self) {
        match self.protocol {
            Protocol::Two => self.line('$', "-1"),
            Protocol::Three => self.line('_', ""),
        }
    }

    /// So many items follow.
    pub(super) fn array(&mut self, items: usize) {
        self.line('*', &items.to_string());
    }

    /// So many pairs follow.
    pub(super) fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Two => self.array(pairs * 2),
            Protocol::Three => self.line('%', &pairs.to_string()),
        }
    }

    fn line(&mut self, kind: char, text: &str) {
        self.bytes.push(kind as u8);
        // A line ends where it ends.
        self.bytes.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
        self.bytes.extend_from_slice(b"\r\n");
    }
}
