package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client/internal/interest"
	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// ask is a request that the host itself made.
type ask struct {
	then    func(result jsontext.Value, err error) error
	timer   otp.Timer
	timeout time.Duration
}

// step takes an event of the handshake and does what is to be done then.
func (c *Connection) step(on session.Event) error {
	effects, err := c.life.Step(c.p.Now(), on)
	for _, e := range effects {
		switch e.Do {
		case session.Arm: // and not Disarm: the lists are part of the start
			c.start.Stop()
			c.start = c.p.After(e.At.Sub(c.p.Now()), startExpired{})
		case session.Announce:
			c.send(jsonrpc.Notification("notifications/initialized", nil))
		case session.Close:
			err = fmt.Errorf("initialize: no answer within %s: %w", c.o.StartTimeout, e.Reason)
		}
	}
	return err
}

// startExpired ends a start that has taken too long.
func (c *Connection) startExpired() error {
	err := fmt.Errorf("not ready within %s: %w", c.o.StartTimeout, context.DeadlineExceeded)
	if c.life != nil && c.life.Phase() == session.Initializing {
		err = c.step(session.Expire)
	}
	if c.remote() {
		return c.away(err, true)
	}
	if up, ok := transport.As[unready](c.up); ok { // the next of it would take as long
		c.gaveUp = true
		return otp.ShutdownWith(c.blame(up.Unready(c.o.StartTimeout)))
	}
	return err
}

// unready is a transport that can say what its server has done in the place of a handshake.
type unready interface {
	Unready(within time.Duration) error
}

// initialized takes the server's answer to the handshake. A server that speaks no revision of
// ours ends the connection for good.
func (c *Connection) initialized(result jsontext.Value, err error) error {
	var init protocol.InitializeResult
	var v protocol.Version
	answered := err == nil
	if err == nil {
		init, err = protocol.ParseInitializeResult(result)
	}
	if err == nil {
		v, err = c.o.Policy.Accept(init.Version)
	}
	if again, ok := c.inAnother(protocol.Legacy, err); ok {
		return c.initialize(again)
	}
	if err != nil {
		_ = c.step(session.Refuse) // an answer is always taken in the phase that waits for it
		c.greeted = err
		if _, exit := errors.AsType[*transport.ExitError](err); !exit { // that says it by itself
			c.greeted = fmt.Errorf("initialize: %w", err)
		}
		if modernOnly(init.Version, err) && (!c.probed || c.silent) && c.may(protocol.Modern) {
			return c.probe(c.newest(protocol.Modern))
		}
		if answered {
			return c.unspoken(c.greeted)
		}
		return c.greeted
	}
	greeted := c.bounds(Facts{Version: v, Capabilities: init.Capabilities, Server: init.Info, Instructions: init.Instructions})
	if c.info().Stateless && !c.probed && c.may(protocol.Modern) {
		c.answered = &greeted
		return c.probe(c.newest(protocol.Modern))
	}
	return c.greetedBy(greeted)
}

// unspoken is the error of a server that has answered the handshake, and not in a revision that may
// be spoken to it. It would answer the same again.
type unspoken struct {
	error
	ours []string
}

func (e unspoken) Unwrap() error { return e.error }

// do says what to do.
func (e unspoken) do() string {
	return "use a version of the server that speaks one of " + strings.Join(e.ours, ", ")
}

// unspoken adds to an error what may be spoken.
func (c *Connection) unspoken(err error) error { return unspoken{err, c.o.Policy.Names()} }

// greetedBy goes on with a server that has answered initialize.
func (c *Connection) greetedBy(f Facts) error {
	c.answered = nil
	c.agreed(f)
	if err := c.step(session.Answer); err != nil {
		return err
	}
	return c.learnAll()
}

// learnAll fetches every list that the server has.
func (c *Connection) learnAll() error {
	if c.o.Key.Instance > 0 { // the lists are those of the first
		return c.maybeReady()
	}
	for _, k := range catalog.Kinds() {
		c.fetching[k].busy = c.facts.Asks(k) // all of them first: one that cannot be asked for ends at once, and must not be the last
	}
	for _, k := range catalog.Kinds() {
		if c.facts.Asks(k) {
			c.fetch(k)
		} else {
			c.learn(k, nil)
		}
	}
	c.p.After(ListGrace, listsLate{c.attempt})
	return c.maybeReady()
}

// maybeReady opens the connection to calls once every list is known, or ListGrace is over.
func (c *Connection) maybeReady() error {
	if c.state == Starting && !c.listing() {
		c.takeCalls()
	}
	return nil
}

// listsLate opens the connection to calls without the lists that are still to come.
func (c *Connection) listsLate(m listsLate) {
	if m.attempt == c.attempt && c.state == Starting {
		c.takeCalls()
	}
}

// takeCalls restores what clients had asked for and opens the connection to calls.
func (c *Connection) takeCalls() {
	c.interested(interest.Event{Op: interest.Restore})
	if c.facts.Version.Has(protocol.Listen) {
		c.listenLists()
	}
	c.pingStart()
	c.listed = true
	c.start.Stop()
	c.inUse()
}

// inUse opens the connection to calls.
func (c *Connection) inUse() {
	c.state, c.absence, c.resumed = Ready, absence{}, false
	c.tellStarts()
	c.report()
	c.tellReady()
	c.lostAt, c.cause, c.incident, c.quiet, c.readyAt = time.Time{}, nil, "", false, c.p.Now()
	c.fails = failures{}
	c.interested(interest.Event{Op: interest.Settle})
	c.writeTells()
	c.takeTurns()
	c.maybeLinger()
	c.staysAwake(c.o.Idle)
	c.maybeSleep()
	c.park()
	c.resume()
}

// request asks the server something on the host's own behalf. With no timeout somebody else sees to it that it ends. After an error
// nothing was asked, and then is not called.
func (c *Connection) request(method string, params jsontext.Value, timeout time.Duration, then func(jsontext.Value, error) error) error {
	_, err := c.ask(method, params, timeout, then)
	return err
}

// ask is request that tells its id.
func (c *Connection) ask(
	method string, params jsontext.Value, timeout time.Duration, then func(jsontext.Value, error) error,
) (jsonrpc.ID, error) {
	id, err := c.fresh()
	if err != nil {
		return id, err
	}
	if c.facts.Version.Has(protocol.PerRequestMeta) {
		params = protocol.Meta{Version: c.facts.Version.String(), Capabilities: c.declared(), Info: c.o.Self}.Set(params)
	}
	a := ask{then: then, timeout: timeout}
	if timeout > 0 {
		a.timer = c.p.After(timeout, askExpired{id})
	}
	c.asked[id] = a
	c.p.Check()
	if err := c.up.Send(c.p.Context(), jsonrpc.Request(id, method, params)); err != nil && !errors.Is(err, transport.ErrClosed) {
		delete(c.asked, id)
		a.timer.Stop()
		return id, fmt.Errorf("%s: %w", method, err)
	}
	c.watch()
	return id, nil
}

// askExpired gives up on one thing the host asked.
func (c *Connection) askExpired(id jsonrpc.ID) error {
	a, ok := c.asked[id]
	if !ok {
		return nil
	}
	delete(c.asked, id)
	c.send(jsonrpc.Notification("notifications/cancelled", cancelled(id, "timeout")))
	return a.then(nil, protocol.Timeout(a.timeout))
}
