package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// hearing is of the signals that do not end `mcpd serve`. It hears them from its beginning on, also
// between one host and the next: a signal that nobody hears ends the process. One of each waits for
// a host that starts, and stands for all that come meanwhile.
type hearing struct {
	hangup, restart chan os.Signal
	terminal        bool // it was started from one, which SIGHUP is the end of
}

// hear hears them. SIGHUP from a terminal stays what ends a host that starts.
func hear() *hearing {
	s := &hearing{make(chan os.Signal, 1), make(chan os.Signal, 1), onTerminal()}
	s.listen()
	return s
}

// gone reports whether the terminal is gone that the host was started from.
func (s *hearing) gone() bool { return s.terminal && !onTerminal() }

func onTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

func (s *hearing) listen() {
	signal.Notify(s.restart, syscall.SIGUSR2)
	if !s.terminal {
		s.listenHangup()
	}
}

// listenHangup takes SIGHUP from whoever hears it as an end. It is ignored in between: Reset
// would let it end the process.
func (s *hearing) listenHangup() {
	signal.Ignore(syscall.SIGHUP)
	signal.Notify(s.hangup, syscall.SIGHUP)
}

// ignore has the next program of this process start without them: until it hears them itself, one
// would end it. It reads the configuration anew in any case.
func (s *hearing) ignore() {
	signal.Ignore(syscall.SIGUSR2)
	if !s.terminal {
		signal.Ignore(syscall.SIGHUP)
	}
}

// onHangup calls reload for each SIGHUP, one after the other, and stop when the terminal that the
// host was started from is gone: then nobody meant the configuration.
func (s *hearing) onHangup(reload, stop func()) (end func()) {
	if s.terminal {
		s.listenHangup()
	}
	return each(s.hangup, func() (last bool) {
		if s.gone() {
			stop()
			return true
		}
		reload()
		return false
	})
}

// onRestart calls restart for each SIGUSR2, until it does.
func (s *hearing) onRestart(restart func() bool) (end func()) { return each(s.restart, restart) }

// each calls do for each signal, until it reports that this was the last.
func each(told <-chan os.Signal, do func() (last bool)) (end func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with end, which waits for it
		defer close(done)
		for {
			select {
			case <-told:
				if do() {
					return
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}
