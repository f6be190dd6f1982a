// Package endings keeps clients of the official SDK busy while the host behind them is killed,
// drained or replaced, or the way to it is cut, and counts what became of their calls. In full it
// writes docs/endings.md.
package endings
