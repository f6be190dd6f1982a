package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// signalListener receives the signals that do not end `mcpd serve`. It listens from the start of
// the process, and between two hosts, because an unhandled signal ends the process. One signal of
// each kind is buffered for a host that is starting, and stands for all that arrive in the
// meantime.
type signalListener struct {
	hangup, restart chan os.Signal
	// terminal reports whether the host was started from a terminal. SIGHUP then means that the
	// terminal has closed.
	terminal bool
}

// listenSignals starts to listen for signals. A SIGHUP from a terminal still ends a host that is
// starting.
func listenSignals() *signalListener {
	s := &signalListener{make(chan os.Signal, 1), make(chan os.Signal, 1), onTerminal()}
	s.listen()
	return s
}

// terminalGone reports whether the host was started from a terminal and the terminal is gone.
func (s *signalListener) terminalGone() bool { return s.terminal && !onTerminal() }

func onTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

func (s *signalListener) listen() {
	signal.Notify(s.restart, syscall.SIGUSR2)
	if !s.terminal {
		s.listenHangup()
	}
}

// listenHangup takes SIGHUP over from the handler that ends the process. SIGHUP is ignored in
// between, because signal.Reset would let it end the process.
func (s *signalListener) listenHangup() {
	signal.Ignore(syscall.SIGHUP)
	signal.Notify(s.hangup, syscall.SIGHUP)
}

// ignore makes the next program of this process ignore the signals until it listens for them
// itself; otherwise a signal would end it. No reload is lost, because that program reads the
// configuration anew.
func (s *signalListener) ignore() {
	signal.Ignore(syscall.SIGUSR2)
	if !s.terminal {
		signal.Ignore(syscall.SIGHUP)
	}
}

// onHangup calls reload for each SIGHUP, one after the other. It calls stop when the terminal
// that the host was started from is gone, because then the signal is not a request to reload.
func (s *signalListener) onHangup(reload, stop func()) (end func()) {
	if s.terminal {
		s.listenHangup()
	}
	return each(s.hangup, func() (last bool) {
		if s.terminalGone() {
			stop()
			return true
		}
		reload()
		return false
	})
}

// onRestart calls restart for each SIGUSR2 until restart returns true.
func (s *signalListener) onRestart(restart func() bool) (end func()) {
	return each(s.restart, restart)
}

// each calls do for each signal until do returns true.
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
