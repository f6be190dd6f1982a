package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpd/actors/memory"
	"mcpd/gateway/config"
	"mcpd/supervisor"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
)

// serveFlags are the options of `mcpd serve` beside its configuration.
type serveFlags struct {
	config, listen, admin, state, format, level string
	chaos                                       bool
	// given are the sockets from the previous host, next those for the process that replaces this
	// one.
	given, next *supervisor.Sockets
	// replaceError is the reason why this process serves again instead of a new program.
	replaceError error
	// arenaServer is the arena's server behind a URL.
	arenaServer *arenaServer
	signals     *signalListener
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the host", Args: cobra.NoArgs,
		Long: "Run the host until a signal stops it.\n\n" +
			"Without a configuration, the host serves a demonstration on loopback: MCP on\n" +
			"127.0.0.1:7420; health, metrics and the supervision tree on 127.0.0.1:7421. With\n" +
			"--chaos and without a configuration, it serves an arena instead: tenants with\n" +
			"servers that misbehave on command. Three of these servers are child processes,\n" +
			"and one is behind a URL.",
		Example: "  mcpd serve\n  mcpd serve --config /etc/mcpd/mcpd.yaml --log-format json\n  mcpd " +
			"serve --chaos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"config", "listen", "admin", "state-dir", "log-format",
				"log-level"} {
				// The likely cause is an unset shell variable.
				if value, _ := cmd.Flags().GetString(name); value == "" && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s is empty: give it a value, or leave it out", name)
				}
			}
			return serveOn(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "",
		"configuration file (default $MCPD_CONFIG (an absolute path), else the first of ./mcpd.yaml, "+
			"~/.config/mcpd/mcpd.yaml, /etc/mcpd/mcpd.yaml)")
	flags.StringVar(&f.listen, "listen", "", "listen address for MCP; overrides the configuration")
	flags.StringVar(&f.admin, "admin", "",
		"listen address for health, metrics and the tree; overrides the configuration")
	flags.StringVar(&f.state, "state-dir", "",
		"absolute path of the state directory (default the first of $STATE_DIRECTORY, "+
			"$XDG_STATE_HOME/mcpd, /var/lib/mcpd for root, ~/.local/state/mcpd)")
	flags.StringVar(&f.format, "log-format", "", "auto, text or json; overrides the configuration")
	flags.StringVar(&f.level, "log-level", "",
		"debug, info, warn or error; overrides the configuration")
	flags.BoolVar(&f.chaos, "chaos", false,
		"accept faults through the admin listener; without a configuration, serve an arena")
	return cmd
}

// serveOn serves until it is told to stop. If this process should be replaced and the replacement
// fails, it serves again with the same sockets.
func serveOn(ctx context.Context, f serveFlags) error {
	f.signals = listenSignals()
	for {
		f.next = &supervisor.Sockets{}
		err := serve(ctx, f)
		switch {
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			// The host was told to stop before it had started, and has stopped.
			return nil
		// A signal to stop takes precedence over a restart.
		case err != nil || ctx.Err() != nil || !f.next.Replace:
			return err
		}
		f.replaceError = execNext(ctx, *f.next, f.signals)
		if ctx.Err() != nil || f.signals.terminalGone() {
			return nil
		}
		f.given = f.next
	}
}

// settings returns the flags as overrides of the configuration.
func (f serveFlags) settings() []config.Setting {
	var list []config.Setting
	for _, s := range []config.Setting{
		{Key: "listen", Value: f.listen, From: "--listen"},
		{Key: "admin.listen", Value: f.admin, From: "--admin"},
		{Key: "log.format", Value: f.format, From: "--log-format"},
		{Key: "log.level", Value: f.level, From: "--log-level"},
		{Key: "state_dir", Value: f.state, From: "--state-dir"},
	} {
		if s.Value != "" {
			list = append(list, s)
		}
	}
	return list
}

// load reads the configuration that the flag names, else the one that is found, else the built-in
// one.
func load(flag string, set []config.Setting,
	without func(config.Options) (*config.Config, error)) (c *config.Config, source string,
	err error) {
	return loadWhere(fileExists, flag, set, without)
}

// fileExists reports whether a file exists. An error other than "not exist" counts as existing.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// loadWhere is load with the test for existing files replaced by there.
func loadWhere(there func(path string) bool, flag string, set []config.Setting,
	without func(config.Options) (*config.Config, error)) (c *config.Config, source string,
	err error) {
	o := config.Options{Env: os.LookupEnv, Builtins: supervisor.Builtins, Set: set, Machine: machine}
	if named, _ := os.LookupEnv("MCPD_CONFIG"); flag == "" && named != "" && !filepath.IsAbs(named) {
		err := fmt.Errorf(
			"$MCPD_CONFIG is %q, a relative path depends on where mcpd was started, write an absolute "+
				"path, beginning with /", named,
		)
		return nil, named, &failure{exitConfig, err}
	}
	source = config.Find(flag, os.LookupEnv, there)
	if source == "" {
		c, err = without(o)
		source = builtIn
	} else if err = currentIdentity().checkPath(source, "it names programs to run"); err == nil {
		c, err = config.Read(source, o)
	}
	if err != nil {
		return nil, source, &failure{exitConfig, err}
	}
	return c, source, nil
}

// reload reads again the file that was found at the start. A new search could find a different
// file if the first one is missing.
func reload(source string, f serveFlags) (*config.Config, string, error) {
	if source == builtIn {
		source = f.config
	}
	return load(source, f.settings(), f.without)
}

// without returns the configuration for a host without a configuration file.
func (f serveFlags) without(o config.Options) (*config.Config, error) {
	if !f.chaos {
		return config.Default(o)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state, err := stateDir(f.state, os.LookupEnv, os.Geteuid() == 0)
	if err != nil {
		return nil, err
	}
	// The load reports mistakes in the flags before anything is started.
	if c, err := config.Default(o); err != nil {
		return c, err
	}
	if err := makeState(state); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	state = filepath.Join(state, "arena")
	url, err := f.arenaServer.open(program, filepath.Join(state, "umbrella"))
	if err != nil {
		return nil, err
	}
	return config.Arena(o, program, state, url)
}

// builtIn is the source of a configuration without a file.
const builtIn = "built-in configuration"

// logger returns a logger on standard error and its level, which a reload may change. The
// configuration has checked the format and the level.
func logger(c *config.Config) (*slog.Logger, *slog.LevelVar) {
	format, _ := telemetry.ParseFormat(c.Log.Format)
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Log.Level))
	return telemetry.NewLogger(os.Stderr, format, level), level
}

// checkLock checks that this host still holds the state directory. If the lock had to be taken
// again, it also renews the crash output, so that the next host finds it there.
func checkLock(lock *stateLock, past crashLog) error {
	again, err := lock.reacquire()
	if again {
		err = past.watch()
	}
	return err
}

func serve(ctx context.Context, f serveFlags) error {
	// The reader of the log may be gone. That must not end the host, so SIGPIPE is received on a
	// channel. It is not ignored, because child processes inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	sockets, err := givenSockets()
	if err != nil {
		return &failure{exitFailure, err}
	}
	if f.given != nil {
		sockets = supervisor.Sockets{Files: f.given.Files, Activated: f.given.Activated}
	}
	f.arenaServer = &arenaServer{}
	defer f.arenaServer.close()
	c, source, err := load(f.config, f.settings(), f.without)
	if err != nil {
		return err
	}
	state, err := stateDir(c.StateDir, os.LookupEnv, os.Geteuid() == 0)
	if err != nil {
		return &failure{exitConfig, err}
	}
	lock, err := lockState(state)
	if err != nil {
		return &failure{exitFailure, err}
	}
	defer lock.close()
	name, err := lock.name()
	if err != nil {
		return &failure{exitFailure, err}
	}
	past := crashLogIn(state)
	safe, err := past.begin(time.Now())
	if err != nil {
		return &failure{exitFailure, err}
	}
	defer past.startEnded()
	run, err := trustedRuntimeDir()
	if err != nil {
		return &failure{exitFailure, err}
	}
	tokens, err := admin.CreateTokens(run, admin.Read, admin.Write, admin.Chaos)
	if err != nil {
		return &failure{exitFailure, fmt.Errorf("admin tokens: %w", err)}
	}
	defer tokens.Remove()
	log, level := logger(c)
	limit := limitMemory(c.Memory, system())
	host, err := supervisor.Start(ctx, c, supervisor.Options{
		Logger: log, Level: level, Build: build(), Chaos: f.chaos, Tokens: tokens, Source: source,
		Memory: limit.runtime, ResidentMemory: limit.resident, Pace: memory.GCPercentSetter(),
		Contention: supervisor.Contention(), Instance: instance(name), EarlierPrefix: name + ".",
		State:      state,
		SafeReason: safe, Sockets: sockets,
		CheckOwner: func() error { return checkLock(lock, past) },
		Load:       func() (*config.Config, string, error) { return reload(source, f) },
		CheckNext: func(ctx context.Context, run func(*exec.Cmd) error) error {
			return checkNext(ctx, run, source)
		},
		ReplaceError: f.replaceError,
	})
	if err != nil {
		return &failure{exitFailure, err}
	}
	if safe == "" {
		past.ready()
	}
	// Readiness reports that the host is draining before any part of the host stops.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	defer context.AfterFunc(ctx, func() {
		again := make(chan os.Signal, 1)
		// The handler in main ends the process after a second signal, a moment later.
		signal.Notify(again, syscall.SIGINT, syscall.SIGTERM)
		defer signal.Stop(again)
		host.Draining("told to stop")
		stop()
		select {
		case <-again:
			host.AnswerAll()
		case <-ended:
		}
	})()
	hungUp := func() {
		host.Draining("the terminal is gone")
		stop()
	}
	// The log says why a reload failed.
	defer f.signals.onHangup(func() { _ = host.Reload(running) }, hungUp)()
	defer f.signals.onRestart(func() bool {
		if !host.Restart(running) {
			return false
		}
		stop()
		return true
	})()
	if err := host.Run(running); err != nil {
		return &failure{
			exitFailure, errors.Join(err, past.note(time.Now(), firstLine([]byte(err.Error())))),
		}
	}
	past.clear()
	*f.next = host.Sockets()
	return nil
}
