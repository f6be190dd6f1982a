// Command relay connects its standard input and output to a socket. It makes a server in the
// process of a test look like a server over stdio, and starts in a few milliseconds. Its arguments
// are the socket and a first line to send.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: os.Args[1]})
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
	if _, err := fmt.Fprintln(connection, os.Args[2]); err != nil {
		os.Exit(1)
	}
	go func() { // owner: main, with which it ends
		_, _ = io.Copy(connection, os.Stdin)
		_ = connection.CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, connection)
}
