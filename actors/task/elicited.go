package task

import (
	"errors"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// visits notes the pages that the client which asked for the outcome is told to visit, so that it
// alone hears when that is complete.
func (t *Task) visits(x *request.Exchange, err error) {
	told, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || told.Code != protocol.CodeURLElicitationRequired {
		return
	}
	for _, page := range mrtr.ElicitationIDs(told.Data) {
		t.elicitations.Add(page, x.Session, x.Owner)
	}
}

// completed passes on that an elicitation is complete to whom the task had put it.
func (t *Task) completed(m *client.Completed) {
	for _, a := range t.elicitations.Take(m.ID) {
		_ = t.p.Send(a.To, m)
	}
}
