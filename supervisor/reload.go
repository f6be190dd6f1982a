package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"mcpd/actors/configuration"
	"mcpd/actors/tenancy"
	"mcpd/gateway/config"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// errNoFile is the error of a reload on a host that was started without a file.
var errNoFile = errors.New("this host has no configuration file to reload")

// reloadTime bounds a reload, including the wait for earlier ones.
const reloadTime = minute

// Reload reads the configuration file and applies it as a whole. An error says why nothing has
// changed; it is also in the log.
func (r *Running) Reload(ctx context.Context) error {
	_, err := r.h.reload(ctx)
	return err
}

func (h *host) reload(ctx context.Context) (*mcpdv1.Reload, error) {
	if reason := h.options.SafeReason; reason != "" {
		// Log it again: the user who sent SIGHUP looks for the result in the log.
		h.recorder.Emit(telemetry.SafeMode{Reason: reason})
		return nil, fmt.Errorf("%w: %s", admin.ErrSafeMode, reason)
	}
	h.renewCertificate()
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	report, err := otp.Do[configuration.ReloadRequest, *configuration.Report](ctx,
		h.core("configuration"), configuration.ReloadRequest{})
	if err != nil {
		return nil, err
	}
	r := &mcpdv1.Reload{Generation: report.Generation, Digest: report.Digest, Source: report.Source}
	for _, c := range report.Changes {
		r.Changes = append(r.Changes, &mcpdv1.Change{Path: c.Path, Does: string(c.Does)})
	}
	return r, nil
}

// applied returns the configuration that applies, for the admin listener.
func (h *host) applied() *mcpdv1.Configuration {
	now := h.now()
	a := now.applied
	return &mcpdv1.Configuration{
		Generation: a.Generation, Digest: a.Digest, Applied: timestamppb.New(a.At),
		Source:      h.options.Source,
		Environment: now.config.Environment, Listen: h.addrs.get("mcp"), Pid: uint32(os.Getpid()),
		ResidentMax: h.options.ResidentMemory,
	}
}

// apply makes c the current configuration.
func (h *host) apply(c *config.Config, a configuration.Applied) {
	for i := range c.Tenants {
		t := &c.Tenants[i].Tenant
		t.Removed = t.RemovedSince(h.now().tenants[t.Name])
	}
	h.settings.Store(newSettings(c, a))
	h.known.keep(h.now)
	h.dialects.keep(h.now)
	h.moveCertificate(c)
	h.ledger.Bound(h.bounds(c))
	h.forgetTenants()
	_ = h.core("tenant_manager").Send(tenancy.Reconfigured{}) // one that starts looks for itself
	if level, err := logLevel(c); err == nil && h.options.Level != nil {
		h.options.Level.Set(level)
	}
	h.warn(c)
}

func logLevel(c *config.Config) (level slog.Level, err error) {
	return level, level.UnmarshalText([]byte(c.Log.Level))
}
