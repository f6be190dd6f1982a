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
		Use: "server", Short: "Serve a server that misbehaves when it is told to", Args: cobra.NoArgs,
		Long: "Serve a server that misbehaves when it is told to. It gives back, sleeps and counts, " +
			"until a call of its tool misbehave has it do wrong.\n" +
			"It speaks on standard input and output, or with --http over Streamable HTTP, and says where. " +
			"The arena of `mcpd serve --chaos` has both.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			switch {
			case addr != "":
				err = serveSite(cmd.Context(), cmd.OutOrStdout(), addr, state, withInput)
			case withInput:
				return fmt.Errorf("--with-input is for --http: a server on standard input ends with it anyway")
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
		"folder for what outlives the process: what was counted, and what fails at start")
	flags.StringVar(&addr, "http", "",
		"serve at this address instead, behind a URL; port 0 is any that is free")
	flags.BoolVar(&withInput, "with-input", false, "with --http: end when standard input does")
	return cmd
}

// serveSite serves the test server over HTTP and prints its URL.
func serveSite(ctx context.Context, out io.Writer, addr, state string, withInput bool) error {
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
