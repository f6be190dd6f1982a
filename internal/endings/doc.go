// Package endings keeps clients of the official SDKs busy while the host behind them is killed,
// drained or replaced, the way to it is cut or its certificate renewed, and counts what became of
// their calls. In full it writes docs/endings.md.
package endings
