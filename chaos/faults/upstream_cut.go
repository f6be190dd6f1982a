package faults

// upstreamCut is Fatal: the host dials a server that was cut off again, which is a restart of its
// connection.
var upstreamCut = Kind{
	Name: "upstream.cut", CatalogueIDs: []string{"F25"}, Aim: AtServer, Partial: true, Fatal: true,
	Needs:       NeedFaultPoints,
	Description: "the connection to a server ends when a message of it arrives",
	Params:      []Param{times("1")},
	Inject:      read("cut"),
}
