package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpd/protocol/jsonedit"
	"mcpd/transport/streamable"
)

// defaultURL is the base URL of the MCP endpoints of a host without configuration.
const defaultURL = "http://127.0.0.1:7420"

// callTimeout is longer than the time that the host gives a server, so the command prints the
// host's reason for a time-out.
const callTimeout = time.Minute

func callCommand() *cobra.Command {
	var url string
	var args []string
	var raw bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "call [tenant/]server tool",
		Short: "Call one tool and print its result",
		Long: "Call one tool of a server behind a running host, or of any Streamable HTTP\n" +
			"endpoint with --url, and print the result. $MCPD_URL names the host (default\n" + defaultURL +
			"), and $MCPD_KEY holds the key. The exit code is 1 if the\n" +
			"tool failed; `mcpd --help` lists the others.",
		Example: "  mcpd call demo echo --arg message=hello\n  mcpd call acme/files list_directory " +
			"--arg path=/srv/acme\n  mcpd call --url http://127.0.0.1:9001/mcp search --arg 'q=\"42\"'",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, names []string) error {
			endpoint, tool, err := endpoint(url, names)
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s: give a duration above zero", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			c := calling{endpoint: endpoint, timeout: timeout, side: cmd.ErrOrStderr()}
			return c.call(ctx, cmd.OutOrStdout(), tool, args, raw)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&url, "url", "", "endpoint to call instead of a server of the host")
	flags.StringArrayVar(&args, "arg", nil,
		"argument as name=value, may be repeated; the tool's schema gives the type of the value")
	flags.BoolVar(&raw, "json", false, "print the whole result as JSON")
	flags.DurationVar(&timeout, "timeout", callTimeout, "time limit for the whole command")
	return cmd
}

// endpoint returns the URL and the tool that the arguments name.
func endpoint(url string, names []string) (endpoint, tool string, err error) {
	if url != "" {
		if len(names) != 1 {
			return "", "", fmt.Errorf("with --url, give one argument: the tool")
		}
		return url, names[0], nil
	}
	if len(names) != 2 {
		return "", "", fmt.Errorf("name a server and a tool, or give --url")
	}
	r, err := serverOf(names[0])
	if err != nil {
		return "", "", err
	}
	return hostURL() + r.Path(), names[1], nil
}

// hostURL returns the base URL of the host.
func hostURL() string {
	if url := os.Getenv("MCPD_URL"); url != "" {
		return strings.TrimSuffix(url, "/")
	}
	return defaultURL
}

// credentials returns the header fields with the key, if there is one.
func credentials() (http.Header, error) {
	header := http.Header{}
	key := os.Getenv("MCPD_KEY")
	if strings.ContainsFunc(key, unicode.IsControl) {
		return nil, errors.New(
			"$MCPD_KEY contains a control character, for example a line break at its end: remove it",
		)
	}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return header, nil
}

// calling is one call of one tool.
type calling struct {
	endpoint string
	timeout  time.Duration
	side     io.Writer
}

func (c calling) call(ctx context.Context, out io.Writer, tool string, args []string,
	raw bool) error {
	header, err := credentials()
	if err != nil {
		return err
	}
	up, err := streamable.NewClient(streamable.ClientOptions{URL: c.endpoint, Header: header})
	if err != nil {
		return err
	}
	p := &callClient{up: up, endpoint: c.endpoint, messages: c.side}
	defer p.close()
	if err := p.handshake(ctx); err != nil {
		return unreachable(c.endpoint, err)
	}
	arguments, err := p.arguments(ctx, tool, args)
	if err != nil {
		return err
	}
	// An empty value becomes an object.
	params, _ := jsonedit.Set(nil, jsonedit.Quote(tool), "name")
	params, _ = jsonedit.Set(params, arguments, "arguments")
	params, _ = jsonedit.Set(params, jsontext.Value(`"mcpd-call"`), "_meta", "progressToken")
	result, err := p.request(ctx, "tools/call", params)
	if err != nil {
		return unanswered(c.endpoint, c.timeout, err)
	}
	if raw {
		fmt.Fprintln(out, string(result))
	} else {
		printResult(out, result)
	}
	if failed, ok := jsonedit.Get(result, "isError"); ok && failed.Kind() == 't' {
		return &failure{exitFailure, fmt.Errorf("tool %s failed", tool)}
	}
	return nil
}

// printResult prints text content as it is. For any other content it prints a one-line summary.
func printResult(out io.Writer, result jsontext.Value) {
	content, _ := jsonedit.Get(result, "content")
	for block := range jsonedit.Elements(content) {
		kind, _ := jsonedit.GetString(block, "type")
		if text, ok := jsonedit.GetString(block, "text"); ok && kind == "text" {
			fmt.Fprintln(out, text)
			continue
		}
		mime, _ := jsonedit.GetString(block, "mimeType")
		uri, _ := jsonedit.GetString(block, "uri")
		fmt.Fprintf(out, "[%s %s%s, %d bytes of JSON; --json shows it]\n", kind, mime, uri, len(block))
	}
}
