package faults

// Entry is one row of the fault catalogue, which lists everything that the host must survive. Kinds
// of fault or tests cover each row.
type Entry struct {
	ID, Description string
	// Tests names the tests that show that the host survives the fault, separated by blanks. Each name
	// is the folder of a package, a dot and a function.
	Tests string
	// Exempt says why there is nothing to survive. Such a row needs no test.
	Exempt string
}

// Catalogue is the whole fault catalogue, ordered by id.
var Catalogue = []Entry{
	{ID: "F01", Description: "an actor panics while it handles a message",
		Tests: "supervisor/otp.TestEveryHandlerMayPanicOrGoexit " +
			"supervisor/otp.TestCrashKeepsTheQueueAndFailsOneMessage chaos.TestChaosRequestManagerCrash " +
			"supervisor/otp.BenchmarkPanicToNextMessage"},
	{ID: "F02", Description: "an actor panics when it starts",
		Tests: "supervisor/otp.TestFailedStartsOfTheFirstKind " +
			"supervisor/otp.TestAStartThatAFaultMakesFail"},
	{ID: "F03", Description: "a supervisor panics",
		Tests: "supervisor/otp.TestASupervisorThatCrashesStopsItsChildrenFirst " +
			"supervisor/otp.TestASupervisorThatCannotStopCollapses"},
	{ID: "F04", Description: "a goroutine that an actor started panics",
		Tests: "supervisor/otp.TestAPanicOfAnOwnedGoroutineIsACrash " +
			"internal/tools/lint.TestRulesFindWhatTheyForbid"},
	{ID: "F05", Description: "an actor hangs",
		Tests: "chaos.TestChaosHungActorsAreReplaced supervisor/otp.TestIsolatedWorkerHasNoEffect " +
			"supervisor/otp.TestHungGoroutinesAreBounded"},
	{ID: "F06", Description: "an actor spins",
		Tests: "supervisor/otp.TestAStuckWorkerIsReportedAndReplaced"},
	{ID: "F07", Description: "a mailbox is flooded",
		Tests: "supervisor/otp.TestTheBoundIsExactUnderConcurrentSenders " +
			"supervisor/otp.TestWhatNeedsNoRoomTakesNone " +
			"supervisor/otp.TestStopFailsWhatIsLeftInTheMailbox"},
	{ID: "F08", Description: "actors wait for one another in a ring",
		Tests: "supervisor/otp.TestARingOfCallsEnds"},
	{ID: "F09", Description: "messages between actors are dropped, doubled or reordered",
		Tests: "chaos/sim.TestNothingIsFound supervisor/otp.TestMessagesAreDuplicatedAndDropped"},
	{ID: "F10", Description: "hundreds of servers crash at once",
		Tests: "transport/stdio.TestACrashLoopHoldsUpNobodyElse transport/stdio.TestStartsHaveARate " +
			"transport/stdio.TestTurnsAreFair"},
	{ID: "F11", Description: "a supervisor's budget of restarts runs out",
		Tests: "chaos.TestTenantWhoseBudgetRunsOutIsPausedAlone " +
			"chaos.TestPoisonOfOneTenantHarmsNobodyElse chaos.TestServersThatCannotWorkConcernNobodyElse"},
	{ID: "F12", Description: "memory runs short",
		Tests: "internal/resilience.TestMemoryIsFull " +
			"gateway/quota.TestLevelsRefuseThoseAboveTheirShareFirst"},
	{ID: "F13", Description: "goroutines and timers explode",
		Tests: "actors/request.TestFullManagerRefuses actors/session.TestBoundHoldsForManyAtOnce " +
			"internal/interop.TestLimitsAreKept"},
	{ID: "F14", Description: "a payload tries to overflow the stack",
		Tests: "protocol/jsonrpc.TestDecodeLimits protocol/jsonrpc.FuzzDecode"},

	{ID: "F15", Description: "an idle child process is killed",
		Tests: "chaos.TestKillOfOneTenantsChildIsNoticedByItsOwnCallsOnly " +
			"transport/stdio.TestDeathIsSeenAtOnce"},
	{ID: "F16", Description: "a child process is killed with calls in flight",
		Tests: "chaos.TestKillOfOneTenantsChildIsNoticedByItsOwnCallsOnly " +
			"actors/client.TestServerDiesWithCallsInItsHands"},
	{ID: "F17", Description: "a child process does not start",
		Tests: "chaos.TestServersThatCannotWorkConcernNobodyElse " +
			"transport/stdio.TestStartFailureSaysWhatIsWrong " +
			"actors/client.TestPermanentCauseIsNotTriedAgain"},
	{ID: "F18", Description: "a child process is stopped",
		Tests: "transport/stdio.TestStoppedServerIsDead actors/client.TestCallToAStoppedServerIsLost"},
	{ID: "F19", Description: "a launcher leaves processes behind",
		Tests: "internal/interop.TestLaunchersLeaveNothingBehind " +
			"transport/stdio.TestNothingOutlivesItsServer"},
	{ID: "F20", Description: "a child process ignores the end of its input and SIGTERM",
		Tests: "transport/stdio.TestStopClimbsOneLadderForAllThatIsLeft " +
			"transport/stdio.TestStopKeepsWithinContext"},
	{ID: "F21", Description: "a child process floods its standard output",
		Tests: "transport/stdio.TestFloodOfNotificationsTakesNoMemory " +
			"transport/stdio.TestCloseOfAFloodingServerIsBounded"},
	{ID: "F22", Description: "a child process writes garbage to its standard output",
		Tests: "transport/stdio.TestGarbageIsReportedAndPassedOver"},
	{ID: "F23", Description: "a child process writes giant lines",
		Tests: "transport/stdio.TestLineThatIsTooLongIsPassedOver " +
			"transport/stdio.TestEndlessLineTakesTheMemoryOfOneMessage " +
			"transport/stdio.TestLargeMessagePasses"},
	{ID: "F24", Description: "a child process floods its standard error",
		Tests: "transport/stdio.TestStandardErrorIsAlwaysDrained " +
			"supervisor.TestLinesOfAServerAreSampled"},
	{ID: "F25", Description: "a child process closes its standard output or input and lives on",
		Tests: "transport/stdio.TestServerThatClosesItsInputIsDead " +
			"transport/stdio.TestEndingIsClassified"},
	{ID: "F26", Description: "a child process answers a byte at a time"},
	{ID: "F27", Description: "a child process takes all processes, memory, descriptors or disk",
		Tests: "internal/interop.TestServersAreLimited transport/stdio.TestMemoryIsLimited " +
			"transport/stdio.TestProcessesAreLimited"},
	{ID: "F28", Description: "the number of a killed process is given to another",
		Tests: "chaos/faults.TestForeignProcessesAreLeftAlone " +
			"transport/stdio.TestExitsAreTakenByWhoeverWaitsForThem"},

	{ID: "F29", Description: "a server never answers",
		Tests: "actors/server.TestCallTimesOut actors/request.TestDeadlineEndsAnExchange"},
	{ID: "F30", Description: "a server answers late, twice, or what nobody asked",
		Tests: "actors/request.TestExchangeHasOneOutcome actors/request.TestTableProperties"},
	{ID: "F31", Description: "a server answers out of order",
		Tests: "actors/request.TestTableProperties"},
	{ID: "F32", Description: "a server confuses the types of ids",
		Tests: "protocol/jsonrpc.TestIDs protocol/jsonrpc.FuzzDecode"},
	{ID: "F33", Description: "a server sends malformed JSON",
		Tests: "internal/interop.TestPayloadsPassUnchanged " +
			"transport/stdio.TestBrokenAnswerFailsItsRequestOnly protocol/jsonrpc.TestDecodeRefuses"},
	{ID: "F34", Description: "a server sends deep or wide JSON",
		Tests: "protocol/jsonrpc.TestDecodeLimits protocol/jsonrpc.BenchmarkDecodeHostile"},
	{ID: "F35", Description: "a server floods progress",
		Tests: "actors/client.TestProgressFloodIsPaced"},
	{ID: "F36", Description: "a server announces changes all the time",
		Tests: "actors/client.TestChangedListIsFetchedAgain " +
			"actors/client.TestServerThatAlwaysAnnouncesIsReady"},
	{ID: "F37", Description: "a server's lists have no end, or invalid items",
		Tests: "actors/client.TestListIsBounded actors/client.TestToolsWithInvalidMirrorsAreNotListed"},
	{ID: "F38", Description: "a server floods its clients with requests",
		Tests: "actors/server.TestQuestionsAreBounded actors/client.TestQuestionsThatAreRefused"},
	{ID: "F39", Description: "a server is another one after its restart",
		Tests: "actors/client.TestRestartTellsWhatIsDifferent " +
			"actors/client.TestServerThatBecameAnotherIsFoundOut"},
	{ID: "F40", Description: "a server behind a URL fails in HTTP's ways",
		Tests: "transport/streamable.TestClientOutcomes " +
			"transport/streamable.TestClientFindsTheSessionLost " +
			"internal/interop.TestServerThatForgetsItsSessions"},

	{ID: "F41", Description: "a client reads slowly",
		Tests: "transport/streamable.TestClientThatDoesNotReadIsCut " +
			"transport/streamable.TestPendingMessagesAreBounded " +
			"internal/resilience.TestAnswersThatNobodyReads"},
	{ID: "F42", Description: "a client's connection is half open",
		Tests: "chaos.TestHalfOpenClientsAreLetGo supervisor.TestUnheardClientsAreGivenUp"},
	{ID: "F43", Description: "clients send headers and bodies slowly, or hoard connections",
		Tests: "transport/streamable.TestIdleConnectionsAreClosed " +
			"transport/streamable.TestSlowBodyIsCutOff " +
			"transport/streamable.TestConnectionsOfAnAddressAreBounded"},
	{ID: "F44", Description: "clients come and go, or all return at once",
		Tests: "transport/streamable.TestStreamIsResumedAfterADisconnect " +
			"chaos.TestHostThatIsKilledIsStartedAgain"},
	{ID: "F45", Description: "clients abuse HTTP/2",
		Tests: "transport/streamable.TestAbuseOfHTTP2EndsTheConnection " +
			"transport/streamable.TestHTTP2NeedsTLS transport/streamable.TestRapidResetEndsTheConnection " +
			"transport/streamable.TestHTTP2StreamsAreBounded"},
	{ID: "F46", Description: "requests in flight have the same id",
		Tests: "chaos.TestEqualIdsNeverMeet " +
			"transport/streamable.TestConcurrentPostsWithOneIDGetTheirOwnAnswers " +
			"transport/stdio.TestServeRefusesAnIDThatIsInFlight " +
			"transport/streamable.TestChannelAnswersRefusedRequestsOnTheStream"},
	{ID: "F47", Description: "a client vanishes during its call",
		Tests: "transport/streamable.TestLeavingCancels actors/server.TestClientThatLeavesCancels " +
			"internal/interop.TestAbandonedCallHoldsUpNobody"},
	{ID: "F48", Description: "a client resumes a stream that is not its own",
		Tests: "transport/streamable.TestForeignEventIDsAreRefused " +
			"transport/streamable.TestHistoryIsDroppedAfterItsTime " +
			"transport/streamable.TestStreamsOfAnEarlierLife"},
	{ID: "F49", Description: "cancellations race with answers",
		Tests: "actors/request.TestCancelEndsAnExchangeWithoutAnAnswer " +
			"transport/streamable.TestCancelledRequestEndsInSilence chaos/sim.TestNothingIsFound"},
	{ID: "F50", Description: "clients abuse batches",
		Tests: "internal/interop.TestBatches protocol/jsonrpc.TestDecodeBatch"},

	{ID: "F51", Description: "descriptors run out",
		Tests: "internal/interop.TestHostWithoutDescriptors transport/streamable.TestListenerMakesRoom"},
	{ID: "F52", Description: "the disk is full, read-only or slow",
		Tests: "actors/storage.TestFullDiskMakesNobodyWait " +
			"actors/storage.TestDiskThatTakesNothingIsAFault actors/storage.TestSlowSyncIsAFault " +
			"store.TestFullDisk"},
	{ID: "F53", Description: "files of state are corrupt",
		Tests: "store.TestForeignAndBrokenFiles internal/interop.TestUnreadableStateIsSetAside"},
	{ID: "F54", Description: "the clock jumps",
		Tests: "supervisor/otp.TestWindowSurvivesAClockThatGoesBack"},
	{ID: "F55", Description: "names of servers do not resolve",
		Tests: "internal/interop.TestObstacleIsToldOnceAndNotTriedAgain " +
			"transport/faulty.TestNamesDoNotResolve transport/faulty.TestBothClientsResolveNames"},
	{ID: "F56", Description: "a shared store is slow or down",
		Exempt: "the host shares no store with others: what it keeps is in files of its own"},
	{ID: "F57", Description: "the keys of an issuer of tokens cannot be had",
		Exempt: "keys of clients are those of the configuration: nothing is fetched"},
	{ID: "F58", Description: "a sink of telemetry is blocked",
		Tests: "telemetry.TestEmitNeverBlocks internal/interop.TestHostWhoseLogIsNotReadEnds"},

	{ID: "F59", Description: "the configuration is reloaded all the time",
		Tests: "internal/interop.TestReloadsUnderLoad"},
	{ID: "F60", Description: "the host is told to stop under load",
		Tests: "chaos.TestHostThatDrainsLetsItsClientsFinish " +
			"chaos.TestHostThatStopsAnswersWhatIsInFlight " +
			"internal/interop.TestNothingUnderWayIsLostByAStop chaos.TestSecondSignalEndsTheHostAtOnce"},
	{ID: "F61", Description: "the host is killed",
		Tests: "chaos.TestHostThatIsKilledIsStartedAgain " +
			"internal/interop.TestNothingOutlivesAKilledHost"},
	{ID: "F62", Description: "the host is stopped and goes on",
		Tests: "internal/interop.TestNothingExpiresForAStop supervisor/otp.TestAPauseIsNotCounted"},
	{ID: "F63", Description: "the host is replaced by another version",
		Tests: "cmd/mcpd.TestScripts/handover supervisor.TestGivenSocketIsTaken"},
	{ID: "F64", Description: "the host crashes again and again",
		Tests: "internal/interop.TestCrashLoopEndsInSafeMode"},
	{ID: "F65", Description: "a node of a cluster is killed", Exempt: "there is no cluster"},
	{ID: "F66", Description: "a cluster is partitioned", Exempt: "there is no cluster"},
	{ID: "F67", Description: "a cluster is upgraded node by node", Exempt: "there is no cluster"},
	{ID: "F68", Description: "a tenant takes far more than its share",
		Tests: "chaos.TestTenantThatCallsTooOftenGetsItsQuota " +
			"gateway/quota.TestRatesOfATenantAndItsPrincipals " +
			"internal/interop.TestFailuresOfOneHoldUpNobodyElse"},
	{ID: "F69", Description: "everything at once", Tests: "internal/resilience.TestResilience"},
}

// InCatalogue returns the row with that id.
func InCatalogue(id string) (Entry, bool) {
	for _, e := range Catalogue {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}
