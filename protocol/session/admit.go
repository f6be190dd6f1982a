package session

import (
	"strings"
	"time"

	"mcpd/protocol"
)

// Admit decides whether the current phase admits a message from the peer. A refusal is a
// *protocol.Error and changes nothing. If the message ends the phase, Admit returns the effects of
// that change.
//
// An admitted initialize does not change the phase. The owner first negotiates, and calls Step with
// Greet if the negotiation succeeds. A failed handshake can therefore be repeated.
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
		return nil, protocol.NotInitialized(l.phase.String(), protocol.MethodAction(method))
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
			return nil, protocol.NotInitialized(l.phase.String(), protocol.MethodAction(method))
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

// admitFromServer decides for a client. Before the end of the handshake a server should send only
// ping and log messages (2025-11-25 §basic/lifecycle). Other requests are refused; all
// notifications are admitted.
func (l *Lifecycle) admitFromServer(now time.Time, method string) error {
	switch l.phase {
	case Initialized:
	case PreInitialization, Initializing:
		if method != "ping" && !strings.HasPrefix(method, "notifications/") {
			return protocol.NotInitialized(l.phase.String(), protocol.MethodAction(method))
		}
	default:
		return protocol.SessionGone()
	}
	l.active = now
	return nil
}
