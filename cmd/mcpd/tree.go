package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func treeCommand() *cobra.Command {
	var addr string
	var asJSON, watch, all bool
	cmd := &cobra.Command{
		Use: "tree", Short: "Show the live supervision tree of a running host", Args: cobra.NoArgs,
		Example: "  mcpd tree\n  mcpd tree --watch\n  mcpd tree --all --json > tree.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := "?"
			if all {
				q += "all=1&"
			}
			if watch {
				q += "watch=1"
			}
			body, err := adminGet(cmd.Context(), addr, "/admin/v1/tree"+q)
			if err != nil {
				return err
			}
			defer body.Close()
			out := cmd.OutOrStdout()
			if !watch {
				raw, err := io.ReadAll(body)
				if err != nil {
					return &failure{exitUnavailable, err}
				}
				return showTree(out, raw, asJSON)
			}
			return watchTree(cmd.Context(), out, body, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	flags.BoolVar(&asJSON, "json", false, "print as JSON")
	flags.BoolVar(&watch, "watch", false, "print the tree again whenever it changes")
	flags.BoolVar(&all, "all", false, "show all rows of each pool, not only those that changed lately")
	return cmd
}

func showTree(out io.Writer, raw []byte, asJSON bool) error {
	if asJSON {
		fmt.Fprintln(out, string(raw))
		return nil
	}
	var n mcpdv1.Node
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &n); err != nil {
		return &failure{exitUnavailable, fmt.Errorf("the answer is not a tree: %w", err)}
	}
	w := bufio.NewWriter(out)
	printTree(w, &n, "", "", time.Now())
	return w.Flush()
}

// watchTree shows each tree of an event stream until the stream ends.
func watchTree(ctx context.Context, out io.Writer, body io.Reader, asJSON bool) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		raw, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := showTree(out, []byte(raw), asJSON); err != nil {
			return err
		}
		if !asJSON {
			fmt.Fprintln(out)
		}
	}
	if ctx.Err() != nil || lines.Err() == nil {
		return nil
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &failure{exitUnavailable, fmt.Errorf("a tree is larger than 64 MiB: leave out --all")}
	}
	return &failure{exitUnavailable, lines.Err()}
}
