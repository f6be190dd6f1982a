package supervisor

import (
	"context"
	"errors"
	"iter"

	"google.golang.org/protobuf/types/known/timestamppb"

	"mcpd/actors/catalog"
	"mcpd/gateway/tenant"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
)

// servers yields the servers for the admin listener, from the records of the catalogues.
func (h *host) servers() iter.Seq[*mcpdv1.Server] {
	return func(yield func(*mcpdv1.Server) bool) {
		for _, row := range h.snapshot().Children {
			if row.ID != "tenants" {
				continue
			}
			for _, t := range row.Children {
				status, _ := catalogOf(t)
				for _, r := range status.Records() {
					if !yield(record(t.ID, r)) {
						return
					}
				}
			}
		}
	}
}

func record(tenant string, r catalog.Record) *mcpdv1.Server {
	s := &mcpdv1.Server{
		Tenant: tenant, Name: r.Server, Link: r.Link.String(), Share: r.Share.String(),
		State: string(r.State), Since: timestamppb.New(r.Since),
		Cause: r.Ending.Cause, CauseClass: r.Ending.Class, Stderr: r.Ending.Stderr,
		Incident: r.Ending.Incident, ByOperator: r.Operator,
		Revision: r.Version, Tools: telemetry.Count(r.Tools), Connections: telemetry.Count(r.Open),
	}
	if !r.Retry.IsZero() {
		s.Retry = timestamppb.New(r.Retry)
	}
	return s
}

// operateTime bounds an operator's action on a server. It waits for no server, but until the
// decision is stored.
const operateTime = 5 * second

// operate performs an operator's action on a server.
func (h *host) operate(ctx context.Context, name, server, verb string) (*mcpdv1.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, operateTime)
	defer cancel()
	if h.now().tenants[name] == nil {
		return nil, admin.ErrNoServer
	}
	catalogue := h.at(&tenant.Tenant{Name: name}, "catalog")
	r, err := otp.Do[catalog.OperateRequest, catalog.Record](ctx, catalogue, catalog.OperateRequest{
		Server: server, Verb: catalog.Verb(verb),
	})
	if errors.Is(err, protocol.ConditionEndpointNotFound) {
		return nil, admin.ErrNoServer
	}
	if errors.Is(err, catalog.ErrOperatorQuarantine) {
		return nil, admin.ErrQuarantined
	}
	if err != nil {
		return nil, err
	}
	return record(name, r), nil
}
