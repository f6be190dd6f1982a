package task

import (
	"errors"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// recordPages records the pages that the outcome of x tells its client to visit. Only that client
// is told when such a visit is complete.
func (t *Task) recordPages(x *request.Exchange, err error) {
	told, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || told.Code != protocol.CodeURLElicitationRequired {
		return
	}
	for _, page := range mrtr.ElicitationIDs(told.Data) {
		t.elicitations.Add(page, x.Session, x.Owner)
	}
}

// completed forwards the completion of an elicitation to the clients to which the task had put it.
func (t *Task) completed(m *client.ElicitationCompleted) {
	for _, a := range t.elicitations.Take(m.ID) {
		_ = t.p.Send(a.To, m)
	}
}
