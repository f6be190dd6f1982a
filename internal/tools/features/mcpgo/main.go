// Mcpgo is a server and a client of mcp-go for the features table:
//
//	mcpgo serve stdio|stateful|stateless legacy|modern
//	mcpgo client legacy|modern <plan
//
// A server over HTTP writes its URL to standard output and exits when its standard input ends.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/server"

	"mcpd/internal/tools/features/plan"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		serve(newServer(), os.Args[2])
		return
	}
	if err := plan.Run(os.Stdin, os.Stdout, connector(os.Args[2])); err != nil {
		log.Fatal(err)
	}
}

func serve(s *server.MCPServer, way string) {
	if way == "stdio" {
		_ = server.ServeStdio(s) // the end of its input is not a failure
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	// owner: the process
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	// Without sessions, a GET stream belongs to no client. The SDK treats all clients as one and
	// sends each notification, also those of a call, to any open stream.
	stateless := way == "stateless"
	log.Fatal(http.Serve(listener,
		server.NewStreamableHTTPServer(s, server.WithStateLess(stateless),
			server.WithDisableStreaming(stateless))))
}
