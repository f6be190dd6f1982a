// Package endings counts the lost calls of official SDK clients while their host is killed, drained
// or replaced, while a proxy between them is killed, or while the certificate is renewed. The full
// form writes docs/endings.md.
package endings
