// Command mcpd runs MCP servers for many clients. See the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// abortGrace is the time that a host has after a second signal to stop, to fail the in-flight
// requests. It is short because clients are on this machine or near it.
const abortGrace = 100 * time.Millisecond

func main() {
	ctx, stop := context.WithCancel(context.Background())
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // not under nohup
		signal.Notify(told, syscall.SIGHUP)
	}
	go func() { // ends with the process
		<-told
		stop()
		// A second signal means that the user does not want to wait. Child processes end with this
		// process.
		<-told
		fmt.Fprintln(os.Stderr, "mcpd: told twice to stop: requests in flight are lost")
		time.Sleep(abortGrace)
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:]))
}

// run runs the program with the given arguments and returns its exit code.
func run(ctx context.Context, args []string) int {
	cmd := root()
	cmd.SetArgs(args)
	out := &output{w: os.Stdout}
	cmd.SetOut(out)
	err := unknownSubcommand(cmd, args)
	if err == nil {
		err = cmd.ExecuteContext(ctx)
	}
	if out.err != nil {
		err = &failure{exitFailure, out.err}
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcpd: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mcpd: %v\n", err)
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitUsage
}

// unknownSubcommand returns an error if a command group has no such subcommand. Cobra itself would
// print the group's help, as if the user had asked for it.
func unknownSubcommand(root *cobra.Command, args []string) error {
	group, rest, err := root.Find(args)
	if err != nil || !group.HasParent() || group.Runnable() || len(rest) == 0 ||
		strings.HasPrefix(rest[0], "-") || rest[0] == "help" {
		return nil // Cobra reports the mistake.
	}
	group.SuggestionsMinimumDistance = 2 // the value that Cobra uses for commands of the root
	text := fmt.Sprintf("unknown command %q for %q", rest[0], group.CommandPath())
	if like := group.SuggestionsFor(rest[0]); len(like) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(like, "\n\t") + "\n"
	}
	return errors.New(text)
}

// needs returns a check that fails if there are no arguments. The error names the missing
// argument.
func needs(label string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), label)
		}
		return nil
	}
}

// output is standard output. It remembers the first write error, because not every command checks
// for errors.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcpd",
		Short: "A supervised host for MCP servers",
		Long: "A supervised host for MCP servers. It serves them to many clients and tenants,\n" +
			"and restarts whatever fails.\n\n" + exitLine(),
		Example:       "  mcpd serve\n  mcpd call demo echo --arg message=hello\n  mcpd tree --watch",
		Version:       build().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.AddCommand(serveCommand(), stdioCommand(), configCommand(), treeCommand(), reloadCommand(),
		serverCommand(), tenantCommand(), callCommand(), chaosCommand(), benchCommand(), keyCommand(),
		versionCommand())
	return cmd
}
