// Package chaos breaks a running host on purpose and looks whether anybody noticed but the part that was broken. It does not know how the
// host is made: it has a client's view of it, an operator's, and the fault points that the release binary has.
package chaos
