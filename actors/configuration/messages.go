package configuration

import (
	"mcpd/gateway/config"
	"mcpd/supervisor/otp"
)

// Reload asks for the file to be read and applied. The reply comes when the configuration applies:
// later requests see it. An error says why nothing has changed.
type Reload = otp.Call[ReloadRequest, *Report]

// ReloadRequest has no fields.
type ReloadRequest struct{}

// Report describes the result of a reload.
type Report struct {
	Source string // the origin of the configuration
	Applied
	Changes []config.Change
}
