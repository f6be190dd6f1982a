// Package layers holds the rule of which package may import which, and the test
// that it is kept. It contains no code that anything runs; it knows packages by
// name only, never what they do.
package layers
