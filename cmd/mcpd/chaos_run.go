package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"mcpd/chaos/faults"
	"mcpd/chaos/record"
	chaos "mcpd/chaos/run"
	"mcpd/chaos/verdict"
	"mcpd/telemetry/admin"
)

// running is how experiments are run.
type running struct {
	casting
	mcp    string
	keys   []string
	report string
	start  string
	meant  bool
	to     reports
}

func chaosRunCommand() *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use: "run NAME|FILE...", Short: "Break a running host, heal it, and judge what happened meanwhile", Args: cobra.MinimumNArgs(1),
		Long: "Break a running host, heal it, and judge what happened meanwhile. Clients of the target and of bystanders call all the while, at a constant\n" +
			"rate; everything is healed at the end, when a guard of the experiment trips, and when the command is interrupted or killed.\n" +
			"Several experiments are run one after the other. The exit code is 1 when something is not as it has to be.",
		Example: "  mcpd chaos run panic-request-manager --short\n  mcpd chaos run mine.yaml --target acme --bystander globex --key acme=env:ACME --key globex=@globex.key --html mine.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	r.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.mcp, "mcp", "", "base URL of the host's MCP endpoints (default what the host says)")
	flags.StringArrayVar(&r.keys, "key", nil, "a tenant's key as TENANT=@FILE or TENANT=env:NAME")
	flags.StringVar(&r.report, "report", "", "folder for the record of each experiment, and a page and a file for build servers of all of them")
	flags.StringVar(&r.start, "start", "", "shell command that starts the host again after experiments have killed it")
	flags.BoolVar(&r.meant, "i-know", false, "break the host although it is in production")
	r.to.flags(cmd)
	return cmd
}

func (r *running) run(ctx context.Context, out, side io.Writer, names []string) error {
	addr, err := adminAddr(r.admin)
	if err != nil {
		return err
	}
	keys, err := readKeys(r.keys, os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	var list []record.Record
	failed := ""
	for _, name := range names {
		e, _, err := readExperiment(name)
		if err != nil {
			return err
		}
		if r.short {
			e = e.Short()
		}
		one, err := chaos.Run(ctx, chaos.Options{
			Experiment: e, Short: r.short, Kinds: faults.Kinds, Admin: "http://" + addr,
			Token: func(s admin.Scope) (string, error) { return adminToken(addr, s) },
			MCP:   r.mcp, Keys: keys, Target: r.target, Bystanders: r.bystanders, Seed: r.seed, Meant: r.meant, Start: starter(r.start),
			Progress: func(line string) { fmt.Fprintln(side, line) },
		})
		if err != nil {
			return chaosFailure(err)
		}
		one.Verdicts = verdict.Judge(one)
		list = append(list, one)
		if verdict.Failed(one.Verdicts) && failed == "" {
			failed = e.Name
		}
		if err := r.keep(one); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	if r.report != "" {
		r.to.html, r.to.junit = orIn(r.to.html, r.report, "report.html"), orIn(r.to.junit, r.report, "report.xml")
	}
	if err := r.to.write(out, list); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case failed != "":
		return &failure{exitFailure, fmt.Errorf("%s: something is not as it has to be", failed)}
	}
	return nil
}

// keep writes a record to the folder of reports, as soon as there is one.
func (r *running) keep(one record.Record) error {
	if r.report == "" {
		return nil
	}
	err := os.MkdirAll(r.report, 0o755)
	if err == nil {
		err = (&reports{json: filepath.Join(r.report, one.Experiment.Name+".json")}).write(io.Discard, []record.Record{one})
	}
	if err != nil {
		return &failure{exitFailure, err}
	}
	return nil
}

func orIn(name, dir, file string) string {
	if name != "" {
		return name
	}
	return filepath.Join(dir, file)
}

// readKeys reads keys from where they are: on the command line everybody could see them.
func readKeys(list []string, getenv func(string) (string, bool), read func(string) ([]byte, error)) (map[string]string, error) {
	keys := map[string]string{}
	for _, text := range list {
		tenant, from, ok := strings.Cut(text, "=")
		file, isFile := strings.CutPrefix(from, "@")
		name, isEnv := strings.CutPrefix(from, "env:")
		switch {
		case !ok || tenant == "" || !isFile && !isEnv:
			return nil, errors.New("--key is TENANT=@FILE or TENANT=env:NAME")
		case isEnv:
			key, ok := getenv(name)
			if !ok {
				return nil, fmt.Errorf("--key %s: the environment has no %s", tenant, name)
			}
			keys[tenant] = key
		default:
			data, err := read(file)
			if err != nil {
				return nil, fmt.Errorf("--key %s: %w", tenant, err)
			}
			keys[tenant] = strings.TrimSpace(string(data))
		}
	}
	return keys, nil
}

// chaosFailure is why nothing was broken, with its exit code.
func chaosFailure(err error) error {
	code := exitFailure
	switch {
	case errors.Is(err, chaos.ErrProduction), chaos.Status(err) == http.StatusUnauthorized, chaos.Status(err) == http.StatusForbidden:
		code = exitPermission
	case errors.Is(err, chaos.ErrUnreachable):
		code = exitUnavailable
	case errors.Is(err, context.Canceled):
		return err
	}
	return &failure{code, err}
}

// starter starts a host with a command of the shell, in a session of its own: the host outlives us. What it says goes where our own messages go.
func starter(command string) func(context.Context) error {
	if command == "" {
		return nil
	}
	return func(context.Context) error {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // ends with the host, or with us
		return nil
	}
}
