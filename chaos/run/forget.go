package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"mcpd/telemetry/admin"
)

// tenant holds the fields of mcpd.v1.Tenant that a run needs.
type tenant struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	Ends       int    `json:"ends"`
	ByOperator bool   `json:"by_operator"`
}

// resetTenant makes the host forget that a tenant ended recently, for example in the previous run,
// because that would lengthen the tenant's next pause. It leaves a tenant alone that an operator
// has quarantined.
func (p *operator) resetTenant(ctx context.Context, name string) error {
	data, err := p.ask(ctx, http.MethodGet, "/admin/v1/tenants", admin.Read, nil)
	if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusNotFound {
		return nil // an older host, which remembers nothing
	}
	if err != nil {
		return err
	}
	var list struct {
		Tenants []tenant `json:"tenants"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, t := range list.Tenants {
		switch {
		case t.Name != name || t.Ends == 0 && t.State == "running":
		case t.ByOperator:
			return fmt.Errorf("%w: tenant %s is %s: release it first", ErrUnable, name, t.State)
		default:
			if _, err := p.ask(ctx, http.MethodPost, "/admin/v1/tenants/"+url.PathEscape(name)+"/release",
				admin.Write, nil); err != nil {
				return fmt.Errorf("%w: tenant %s has ended %d times lately, and is not released: %w", ErrUnable,
					name, t.Ends, err)
			}
		}
	}
	return nil
}
