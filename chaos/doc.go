// Package chaos breaks a running host on purpose and checks that only the broken part is affected.
// It does not depend on the implementation of the host: it uses the interfaces of a client and of
// an operator, and the fault points that the release binary has.
package chaos
