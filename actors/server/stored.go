package server

import (
	"errors"

	"mcpd/actors/session"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// writing is an answer that waits until the session is stored.
type writing struct {
	then  func(durable bool) // nil when it was called
	timer otp.Timer
}

type written struct {
	w   *writing
	err error
}

var errSlow = errors.New("the disk is slow")

// write goes on when the session is stored, or after storage.WriteWait.
func (s *Session) write(d *session.Deliver, then func(durable bool)) {
	if !s.handle.Persistent() {
		then(false)
		return
	}
	w := &writing{then: then}
	s.waiting.add(d)
	w.timer = s.p.After(storage.WriteWait, written{w, errSlow})
	otp.CallAsync(s.p, s.handle.Storage(),
		storage.PutRequest{Tenant: s.handle.Endpoint().Tenant, Change: s.handle.Saved()},
		func(_ struct{}, err error) any {
			return written{w, err}
		})
}

func (s *Session) written(m written) {
	w, then := m.w, m.w.then
	w.then = nil
	w.timer.Stop()
	if then != nil {
		then(m.err == nil)
	}
}

// announceRestart tells the client of a session that outlived its host what may have changed,
// because nobody received the notifications of servers meanwhile.
func (s *Session) announceRestart() {
	for _, k := range merge.Kinds() {
		if method := k.Changed(); k != merge.Templates &&
			s.record.Offered.Has(k.String()+".listChanged") {
			_ = s.push(jsonrpc.Notification(method, nil))
		}
	}
	for _, u := range s.record.URIs {
		params, _ := jsonedit.Set(nil, jsonedit.Quote(u.URI), "uri") // an empty value becomes an object
		_ = s.push(jsonrpc.Notification("notifications/resources/updated", params))
	}
}
