package capability

// capabilities lists those that some revision of the protocol names (2025-11-25 §basic/lifecycle,
// Capability Negotiation).
var capabilities = []Info{
	{Name: "completions", Side: "server", Since: "2025-03-26",
		Description: "completes arguments of prompts and resource templates"},
	{Name: "elicitation", Side: "client", Since: "2025-06-18", Flags: []string{"form", "url"},
		Description: "asks its user for input"},
	{Name: "experimental", Side: "both", Since: "2024-11-05",
		Description: "features outside of the revision"},
	{Name: "extensions", Side: "both", Since: "2026-07-28",
		Description: "features with a specification of their own"},
	{Name: "logging", Side: "server", Since: "2024-11-05", Description: "sends log messages"},
	{Name: "prompts", Side: "server", Since: "2024-11-05", Flags: []string{"listChanged"},
		Description: "offers prompts"},
	{Name: "resources", Side: "server", Since: "2024-11-05",
		Flags: []string{"subscribe", "listChanged"}, Description: "offers resources"},
	{Name: "roots", Side: "client", Since: "2024-11-05", Flags: []string{"listChanged"},
		Description: "tells where in the file system it works"},
	{Name: "sampling", Side: "client", Since: "2024-11-05", Flags: []string{"context", "tools"},
		Description: "lets servers use its model"},
	{Name: "tasks", Side: "both", Since: "2025-11-25", Flags: []string{"list", "cancel", "requests"},
		Description: "runs requests as tasks"},
	{Name: "tools", Side: "server", Since: "2024-11-05", Flags: []string{"listChanged"},
		Description: "offers tools"},
}
