package session

import (
	"strings"
	"time"

	"mcpd/protocol"
)

// Admit decides on a message that came from the peer, by the phase alone. A refusal is a *protocol.Error and changes nothing. The effects
// are those of a phase that the message itself ends.
//
// An admitted initialize does not change the phase: its owner negotiates and steps with Greet when that succeeded, so that a failed
// handshake can be tried again (S0-58).
func (l *Lifecycle) Admit(now time.Time, method string) ([]Effect, error) {
	if l.side == protocol.Client {
		return nil, l.admitFromServer(now, method)
	}
	return l.admitFromClient(now, method)
}

func (l *Lifecycle) admitFromClient(now time.Time, method string) ([]Effect, error) {
	note := strings.HasPrefix(method, "notifications/")
	switch l.phase {
	case Initialization:
		if method == "initialize" || method == "ping" || note && method != "notifications/initialized" {
			break
		}
		return nil, protocol.NotInitialized(l.phase.String(), protocol.Action(method))
	case Initialized:
		switch {
		case method == "initialize":
			return nil, protocol.AlreadyInitialized()
		case method == "notifications/initialized":
			return l.Step(now, Confirm)
		case method == "ping", note:
		case l.unordered:
			return l.Step(now, Overtake)
		default:
			return nil, protocol.NotInitialized(l.phase.String(), protocol.Action(method))
		}
	case Ready:
		if method == "initialize" {
			return nil, protocol.AlreadyInitialized()
		}
	case ShuttingDown:
		if !note && method != "ping" {
			return nil, &protocol.Error{
				Condition:  protocol.ConditionOverloaded,
				Message:    "server is shutting down",
				RetryAfter: time.Second,
			}
		}
	default:
		return nil, protocol.SessionGone()
	}
	l.active = now
	return nil, nil
}

// admitFromServer is the view of a client: before its handshake is over a server should send nothing but ping and log messages
// (2025-11-25 §basic/lifecycle), so its requests are refused and its notifications are let through.
func (l *Lifecycle) admitFromServer(now time.Time, method string) error {
	switch l.phase {
	case Initialized:
	case PreInitialization, Initializing:
		if method != "ping" && !strings.HasPrefix(method, "notifications/") {
			return protocol.NotInitialized(l.phase.String(), protocol.Action(method))
		}
	default:
		return protocol.SessionGone()
	}
	l.active = now
	return nil
}
