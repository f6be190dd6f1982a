package tenant

import "fmt"

// Redacted is shown in place of a secret.
const Redacted = "<redacted>"

// Secret is a text that may hold a credential. Every way of printing, logging or marshalling it shows its second, harmless form;
// only Reveal gives the text.
type Secret struct{ text, shown string }

// NewSecret returns a secret that is shown as Redacted.
func NewSecret(text string) Secret { return Secret{text, Redacted} }

// NewShown returns a text that is shown otherwise: as the operator wrote it, before variables were filled in.
func NewShown(text, shown string) Secret { return Secret{text, shown} }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return s.text }

// IsZero says that there is no text, nor anything to show.
func (s Secret) IsZero() bool { return s == Secret{} }

// String returns the harmless form.
func (s Secret) String() string { return s.shown }

// Format makes every verb print the harmless form; without it %d and %#v would print the fields.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.shown)) }

// MarshalText covers JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown), nil }
