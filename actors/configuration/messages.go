package configuration

import (
	"mcpd/gateway/config"
	"mcpd/supervisor/otp"
)

// Reload asks for the file to be read and applied. The answer comes when it applies: who asks anything from then on is answered accordingly.
// An error says why nothing has changed.
type Reload = otp.Call[ReloadRequest, *Report]

// ReloadRequest has no fields.
type ReloadRequest struct{}

// Report is what a reload did.
type Report struct {
	Source string // where the configuration came from
	Applied
	Changes []config.Change
}
