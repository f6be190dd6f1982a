package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thejerf/suture/v4"

	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

const (
	// renewEvery is how often the files of the certificate are read again. Programs that renew them do
	// not notify the host.
	renewEvery = 10 * second
	// checkEvery is how often the host checks that clients accept the certificate.
	checkEvery = 10 * minute
	// warningInterval is how often the same problem of a certificate is reported again.
	warningInterval = 24 * time.Hour
)

// CheckCertificate checks the certificate of a configuration, if it has one. err is a problem: a
// host does not start without the certificate's files, but does start with a certificate that its
// clients refuse. doubt is a root that this machine does not trust, because the clients may trust
// it.
func CheckCertificate(c *config.Config, now time.Time) (warning, err error) {
	if c.TLS.Cert == "" {
		return nil, nil
	}
	certificate, err := streamable.LoadCertificate(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, err
	}
	err = certificate.Check(now, nil)
	if _, unknown := errors.AsType[*streamable.UnknownRootError](err); unknown {
		return err, nil
	}
	return nil, err
}

// certificateRow makes the service that renews the certificate. The certificate outlives the
// service.
func (h *host) certificateRow() (suture.Service, error) {
	if h.certificate.Load() == nil {
		files := h.now().config.TLS
		certificate, err := streamable.LoadCertificate(files.Cert, files.Key)
		if err != nil {
			return nil, err
		}
		h.certificate.Store(certificate)
	}
	return &renewal{
		certificate: h.certificate.Load(), clock: h.clock, asked: h.renew,
		emit: func(e telemetry.Event) { h.recorder.Emit(e) },
	}, nil
}

// load reads the next configuration. If its certificate is in other files, and these cannot be
// used, the configuration is refused: a reload changes everything or nothing.
func (h *host) load() (*config.Config, string, error) {
	next, source, err := h.options.Load()
	served := h.certificate.Load()
	if err != nil || served == nil || next.TLS.Cert == "" || served.IsOf(next.TLS.Cert, next.TLS.Key) {
		return next, source, err
	}
	other, err := served.LoadReplacement(next.TLS.Cert, next.TLS.Key, h.clock.Now())
	if err != nil {
		return nil, source, err
	}
	h.nextCertificate.Store(other)
	return next, source, nil
}

// moveCertificate starts to serve the certificate of a configuration that applies from now on, if
// the certificate is in other files than before. These were read together with the configuration.
func (h *host) moveCertificate(c *config.Config) {
	served, other := h.certificate.Load(), h.nextCertificate.Swap(nil)
	if served == nil || other == nil || !other.IsOf(c.TLS.Cert, c.TLS.Key) {
		return
	}
	served.ReplaceWith(other)
	h.renewCertificate() // also checks it
	h.recorder.Emit(telemetry.CertificateRenewed{
		File: served.File(), Left: served.Expires().Sub(h.clock.Now()),
	})
}

// renewCertificate requests that the files of the certificate are read now. It does not wait for
// that.
func (h *host) renewCertificate() {
	select {
	case h.renew <- struct{}{}:
	default: // already requested
	}
}

// certificateLeft returns how long the certificate is still valid, for the metrics.
func (h *host) certificateLeft() (remaining time.Duration, ok bool) {
	c := h.certificate.Load()
	if c == nil {
		return 0, false
	}
	return c.Expires().Sub(h.clock.Now()), true
}

// renewal is the service that renews and checks a certificate.
type renewal struct {
	certificate *streamable.Certificate
	clock       clock.Clock
	asked       <-chan struct{}
	emit        func(telemetry.Event)

	checked time.Time
	warning string    // last reported problem
	told    time.Time // time of that report
}

// Serve implements suture.Service.
func (r *renewal) Serve(ctx context.Context) error {
	r.check()
	for {
		due := make(chan struct{})
		timer := r.clock.AfterFunc(renewEvery, func() { close(due) })
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-r.asked:
			timer.Stop()
			r.checked = time.Time{}
			r.renew(true)
		case <-due:
			r.renew(false)
		}
		r.check()
	}
}

// renew reads the files and serves the certificate that they hold now.
func (r *renewal) renew(atOnce bool) {
	now := r.clock.Now()
	renewed, err := r.certificate.Renew(now, atOnce)
	switch {
	case err != nil:
		r.emit(telemetry.CertificateDoubted{
			File: r.certificate.File(), Reason: "the previous certificate is still served: " + err.Error(),
		})
	case renewed:
		r.warning, r.checked = "", time.Time{}
		r.emit(telemetry.CertificateRenewed{
			File: r.certificate.File(), Left: r.certificate.Expires().Sub(now),
		})
	}
}

// check reports why clients refuse the certificate, or soon will. It reports a problem when it
// begins, and once a day.
func (r *renewal) check() {
	now := r.clock.Now()
	if now.Sub(r.checked) < checkEvery {
		return
	}
	r.checked = now
	warning := ""
	if err := r.certificate.Check(now, nil); err != nil {
		warning = err.Error()
	} else if r.certificate.ExpiresSoon(now) {
		warning = fmt.Sprintf("it expires at %s and was not renewed",
			r.certificate.Expires().UTC().Format(time.RFC3339))
	}
	if warning == r.warning && now.Sub(r.told) < warningInterval {
		return
	}
	r.warning, r.told = warning, now
	if warning != "" {
		r.emit(telemetry.CertificateDoubted{File: r.certificate.File(), Reason: warning})
	}
}
