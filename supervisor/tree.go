// Package supervisor is the composition root: it builds the whole host as one tree, and runs it. It
// contains lists and wiring, and decides nothing about a message.
package supervisor

import (
	"sync"
	"time"

	"mcpd/actors/capability"
	"mcpd/actors/catalog"
	"mcpd/actors/configuration"
	"mcpd/actors/held"
	"mcpd/actors/memory"
	"mcpd/actors/notification"
	"mcpd/actors/process"
	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/actors/task"
	"mcpd/actors/tenancy"
	"mcpd/actors/version"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

const second, minute = time.Second, time.Minute

// tree returns the spec of the host. Read it downwards as the order of start: each row is ready
// before the next one starts. Read it upwards as the order of stop: listeners close first, then
// tenants end their work, and the admin listener shows all of it.
//
// Each tenant is a failure domain. Crashes below it count against its own intensities. A tenant
// that exceeds its intensity ends with a shutdown, which no supervisor above counts, and the tenant
// manager starts it again after a pause. The supervisors near the root pause a child that ends too
// often, so that no intensity ever ends the process.
func (h *host) tree() otp.Spec {
	in := h.intensity
	if h.options.SafeReason != "" {
		return h.safeTree()
	}
	return otp.Spec{Strategy: otp.OneForOne, Intensity: in(3, minute), Backoff: backoff,
		Children: []otp.Child{
			service("admin", 1*second, h.admin),
			// TIER 4: may fail all day. Beyond its intensity it stays down, and readiness says so. Requests
			// are not affected.
			sup("observability", otp.Temporary, in(10, minute), 5*second,
				service("event_log", 2*second, h.eventLog),
			),
			// TIER 1: what all tenants need. The state of each row survives a crash of the row.
			pausing("core", in(5, 10*second), startsPaused(backoff), append(h.storage(),
				actor("memory", 5*second, func() otp.Behaviour { return memory.New(h.memoryOptions()) }),
				actor("protocol_version", 5*second, func() otp.Behaviour {
					return version.New(h.recorder.Emit)
				}),
				actor("capabilities", 5*second, func() otp.Behaviour { return capability.New() }),
				actor("session_manager", 5*second, func() otp.Behaviour {
					return session.New(h.sessionOptions(), h.index)
				}),
				actor("process_manager", 10*second, func() otp.Behaviour {
					return process.New(h.spawner, h.last)
				}),
				actor("tenant_manager", 5*second, func() otp.Behaviour {
					return tenancy.New(h.tenancyOptions())
				}),
				actor("configuration", 5*second, func() otp.Behaviour {
					return configuration.New(h.configurationOptions())
				}),
			)...),
			dynamic("tenants", in(20, minute), h.tenants),
			// Last to start, so first to stop: clients finish what they have begun while all other rows
			// still run.
			pausing("listeners", in(5, minute), backoff, h.listeners()...),
		}}
}

// tenant returns the template of one tenant's subtree.
func (h *host) tenant(t *tenant.Tenant) otp.Child {
	in, kept := h.intensity, h.taskOptions(t)
	return failureDomain(sup(t.Name, otp.Transient, in(5, 30*second), otp.Infinity,
		withMailbox(t.Limits.MaxPending, actor("request_manager", 10*second, func() otp.Behaviour {
			return request.New(h.requestOptions(t))
		})),
		replaced(actor("notification_dispatcher", 5*second, func() otp.Behaviour {
			return notification.New(h.noticeOptions(t))
		})),
		withMailbox(t.Limits.MaxPending, actor("catalog", 5*second, func() otp.Behaviour {
			return catalog.New(h.catalogOptions(t))
		})),
		// TIER 3: one supervisor for each server, above its connections. Each connection has its own
		// supervisor: see client.Supervised.
		pool("client_sup", in(5, 30*second), otp.Infinity, otp.Child{
			Label: telemetry.UpstreamLabel, Restart: otp.Transient, Shutdown: 10 * second,
			Start: otp.SupervisorWith(upstream),
		}),
		// One actor for each call that waits for its client. Sessions and connections come and go
		// meanwhile.
		pool("held_sup", in(5, 30*second), 10*second,
			held.Supervised(in(5, 30*second), sync.OnceValue(func() *held.Options {
				return h.heldOptions(t)
			}))),
		// One actor for each task that the host keeps. Sessions and connections come and go meanwhile.
		pool("task_sup", in(5, 30*second), 10*second, task.Supervised(in(5, 30*second), kept)),
		actor("task_manager", 5*second, func() otp.Behaviour {
			return task.NewManager(h.taskManagerOptions(t, kept()))
		}),
		// TIER 2: one actor for each downstream session. An actor that ended is replaced while its
		// session continues.
		pool("server_sup", in(5, 30*second), 20*second, withMailbox(t.Limits.MaxSessionPending, otp.Child{
			Label: "session", Restart: otp.Temporary, Shutdown: 5 * second,
			Start: otp.WorkerWith(h.session(t, kept)),
		})),
	))
}

// upstream returns the template of one server's subtree, whose connections come and go. A server
// that exceeds its intensity ends with a shutdown, which is not counted here, and the catalogue
// starts it again after a pause.
func upstream(args any) otp.Spec {
	s := args.(tenant.Server)
	return otp.Spec{
		Strategy:  otp.OneForOne,
		Intensity: otp.Intensity{Restarts: s.Intensity.Restarts, Within: s.Intensity.Within},
	}
}
