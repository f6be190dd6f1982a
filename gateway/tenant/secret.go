package tenant

import "fmt"

// Redacted is shown in place of a secret.
const Redacted = "<redacted>"

// Secret is a text that may contain a credential. Printing, logging and marshalling show its
// harmless form. Only Reveal returns the text.
type Secret struct{ text, shown string }

// NewSecret returns a secret that is shown as Redacted.
func NewSecret(text string) Secret { return Secret{text, Redacted} }

// NewSecretShownAs returns a secret with another harmless form: the text as the operator wrote it,
// before variables were expanded.
func NewSecretShownAs(text, shown string) Secret { return Secret{text, shown} }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is neither a text nor a harmless form.
func (s Secret) IsZero() bool { return s == Secret{} }

// String returns the harmless form.
func (s Secret) String() string { return s.shown }

// Format makes every verb print the harmless form. Without it, %d and %#v would print the fields.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.shown)) }

// MarshalText returns the harmless form for JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown), nil }
