package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"mcpd/chaos/server"
)

func chaosServerCommand() *cobra.Command {
	var state, addr string
	var withInput bool
	cmd := &cobra.Command{
		Use: "server", Short: "Run a server that misbehaves on command", Args: cobra.NoArgs,
		Long: "Run a server that misbehaves on command. It echoes, sleeps and counts until a call\n" +
			"of its tool misbehave makes it fail. It speaks stdio or, with --http, Streamable\n" +
			"HTTP, and then prints its URL. The arena of `mcpd serve --chaos` has servers of\n" +
			"both kinds.",
		Example: "  mcpd chaos server\n  mcpd chaos server --http 127.0.0.1:0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			switch {
			case addr != "":
				err = serveHTTPServer(cmd.Context(), cmd.OutOrStdout(), addr, state, withInput)
			case withInput:
				return fmt.Errorf("--with-input needs --http: a server on stdio ends with its input anyway")
			default:
				err = server.Serve(cmd.Context(), server.Options{In: os.Stdin, Out: os.Stdout, State: state})
			}
			if err != nil {
				return &failure{exitFailure, err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "",
		"directory for data that outlives the process: the counts and the failures at start")
	flags.StringVar(&addr, "http", "",
		"serve Streamable HTTP at this address; port 0 takes any free port")
	flags.BoolVar(&withInput, "with-input", false, "with --http: exit when standard input ends")
	return cmd
}

// serveHTTPServer serves the test server over HTTP and prints its URL.
func serveHTTPServer(ctx context.Context, out io.Writer, addr, state string, withInput bool) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if withInput {
		go func() { // ends with the input or with the process
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	if _, err := fmt.Fprintf(out, "http://%s%s\n", l.Addr(), server.Endpoint); err != nil {
		_ = l.Close()
		return err
	}
	return server.ServeHTTP(ctx, server.HTTPOptions{Listener: l, State: state})
}
