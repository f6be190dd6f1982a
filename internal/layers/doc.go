// Package layers has the rule of which package may import which, and the test of that rule. It has
// no code that runs in the program. It knows packages by name only.
package layers
