%% OTP's side of the scenarios of bench/actor: supervisors and gen_servers as anybody would write them. It answers each line on its standard
%% input with a line, "ok" and JSON or "error" and a text. Times are nanoseconds. The lines are those of bench/actor/question.go.
-module(bench).
-mode(compile).
-export([main/1, init/1, handle_call/3, handle_cast/2, pooled/1]).

%% The argument is the file to which reports are written.
main([File]) ->
    logger:remove_handler(default),
    logger:add_handler(file, logger_std_h, #{
        config => #{file => File},
        formatter => {logger_formatter, #{legacy_header => true, single_line => false}}}),
    loop().

loop() ->
    case io:get_line("") of
        Line when is_list(Line) ->
            try answer(string:lexemes(string:trim(Line), " ")) of
                Fields -> io:format("ok {~s}~n", [lists:join(",", Fields)])
            catch
                Class:Reason -> io:format("error ~0p~n", [{Class, Reason}])
            end,
            loop();
        _ -> ok
    end.

%% Questions.

answer(["restart", Siblings, Pace, Reports, How, Times]) ->
    reports(Reports),
    Sup = tree([victim() | siblings(int(Siblings))]),
    up(),
    H = histogram(),
    repeat(int(Times), fun() -> pause(Pace), record(H, restart(How)) end),
    stop(Sup),
    [samples(H)];
answer(["pool", Children, Times]) ->
    reports("quiet"),
    {ok, Sup} = supervisor:start_link(?MODULE, {pool, unlimited()}),
    {ok, First} = supervisor:start_child(Sup, [self()]),
    repeat(int(Children) - 1, fun() -> {ok, _} = supervisor:start_child(Sup, [none]) end),
    up(),
    H = histogram(),
    pooled(First, int(Times), H),
    stop(Sup),
    [samples(H)];
answer(["subtree", Children, Times]) ->
    reports("quiet"),
    N = int(Children),
    Self = self(),
    Below = [worker(I, Self) || I <- lists:seq(1, N)],
    Sup = tree([#{id => sub, type => supervisor, start => {supervisor, start_link, [{local, sub}, ?MODULE, {sup, unlimited(), Below}]}}]),
    ups(N),
    H = histogram(),
    repeat(int(Times), fun() ->
        pause("paced"),
        Sub = whereis(sub),
        record(H, timed(fun() -> exit(Sub, kill), [1 = gen_server:call(P, 1) || P <- ups(N)] end))
    end),
    stop(Sup),
    [samples(H)];
answer(["isolation", Siblings, Every, Reports, Milliseconds, What]) ->
    reports(Reports),
    Bystander = #{id => bystander, start => {gen_server, start_link, [{local, bystander}, ?MODULE, {worker, none}, []]}},
    Sup = tree([Bystander | crashing(What, int(Siblings))]),
    H = histogram(),
    End = now_ns() + int(Milliseconds) * 1000000,
    Self = self(),
    Killer = spawn_link(fun() -> killing(Self, int(Every), 0) end),
    {Calls, Failures} = watching(End, H, 0, 0),
    Killer ! enough,
    Kills = receive {kills, K} -> K end,
    stop(Sup),
    [samples(H), field("calls", Calls), field("failures", Failures), field("kills", Kills)];
answer(["call", Times]) ->
    Sup = tree([victim()]),
    up(),
    repeat(10000, fun() -> 1 = gen_server:call(victim, 1) end),
    H = histogram(),
    repeat(int(Times), fun() -> record(H, timed(fun() -> 1 = gen_server:call(victim, 1) end)) end),
    stop(Sup),
    [samples(H)];
answer(["idle", Count]) ->
    {ok, Sup} = supervisor:start_link(?MODULE, {pool, unlimited()}),
    repeat(1000, fun() -> {ok, _} = supervisor:start_child(Sup, [none]) end),
    Before = used(Sup),
    repeat(int(Count), fun() -> {ok, _} = supervisor:start_child(Sup, [none]) end),
    After = used(Sup),
    stop(Sup),
    [field("bytes", (After - Before) / int(Count))];
answer(["release"]) ->
    [["\"release\":\"", erlang:system_info(otp_release), " (erts ", erlang:system_info(version), ")\""]].

%% Trees.

init({sup, Flags, Children}) -> {ok, {Flags#{strategy => one_for_one}, Children}};
init({pool, Flags}) -> {ok, {Flags#{strategy => simple_one_for_one}, [#{id => child, start => {?MODULE, pooled, []}}]}};
init({worker, none}) -> {ok, none};
init({worker, Told}) -> Told ! {up, self()}, {ok, none}.

handle_call(crash, _, _) -> error(on_purpose);
handle_call(Request, _, State) -> {reply, Request, State}.

handle_cast(_, State) -> {noreply, State}.

pooled(Told) -> gen_server:start_link(?MODULE, {worker, Told}, []).

%% As many restarts as the bench makes: a period is whole seconds.
unlimited() -> #{intensity => 10000000, period => 1}.

tree(Children) ->
    {ok, Sup} = supervisor:start_link(?MODULE, {sup, unlimited(), Children}),
    Sup.

victim() -> #{id => victim, start => {gen_server, start_link, [{local, victim}, ?MODULE, {worker, self()}, []]}}.
worker(Id, Told) -> #{id => Id, start => {gen_server, start_link, [?MODULE, {worker, Told}, []]}}.
siblings(N) -> [worker(I, none) || I <- lists:seq(1, N)].

%% What is made to crash: one of as many siblings, or a supervisor of as many.
crashing("actor", N) ->
    Victim = #{id => victim, start => {gen_server, start_link, [{local, victim}, ?MODULE, {worker, none}, []]}},
    [Victim | siblings(N - 1)];
crashing("supervisor", N) ->
    [#{id => victim, type => supervisor, start => {supervisor, start_link, [{local, victim}, ?MODULE, {sup, unlimited(), siblings(N)}]}}].

stop(Sup) ->
    unlink(Sup),
    Ref = monitor(process, Sup),
    exit(Sup, shutdown),
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% What is timed.

restart("message") ->
    Victim = whereis(victim),
    timed(fun() -> exit(Victim, kill), up(), 1 = gen_server:call(victim, 1) end);
restart("call") ->
    timed(fun() ->
        try gen_server:call(victim, crash) catch exit:_ -> ok end,
        up(),
        1 = gen_server:call(victim, 1)
    end).

pooled(_, 0, _) -> ok;
pooled(Victim, Times, H) ->
    pause("paced"),
    T = now_ns(),
    exit(Victim, kill),
    Next = up(),
    1 = gen_server:call(Next, 1),
    record(H, now_ns() - T),
    pooled(Next, Times - 1, H).

killing(Parent, Every, Kills) ->
    Wait = case Every of 0 -> infinity; _ -> Every div 1000 end,
    receive enough -> Parent ! {kills, Kills}
    after Wait ->
        case whereis(victim) of
            undefined -> killing(Parent, Every, Kills);
            Victim -> exit(Victim, kill), killing(Parent, Every, Kills + 1)
        end
    end.

watching(End, H, Calls, Failures) ->
    T = now_ns(),
    Failed = try 1 = gen_server:call(bystander, 1), 0 catch exit:_ -> 1 end,
    Now = now_ns(),
    record(H, Now - T),
    case Now < End of
        true -> watching(End, H, Calls + 1, Failures + Failed);
        false -> {Calls + 1, Failures + Failed}
    end.

%% What it is timed with.

up() -> receive {up, Pid} -> Pid after 10000 -> error(not_restarted) end.
ups(N) -> [up() || _ <- lists:seq(1, N)].

pause("paced") -> timer:sleep(1);
pause("tight") -> ok.

reports("reports") -> logger:set_primary_config(level, notice);
reports("quiet") -> logger:set_primary_config(level, none).

used(Sup) ->
    garbage_collect(Sup),
    garbage_collect(),
    erlang:memory(total).

repeat(0, _) -> ok;
repeat(N, F) -> F(), repeat(N - 1, F).

timed(F) -> T = now_ns(), F(), now_ns() - T.
now_ns() -> erlang:monotonic_time(nanosecond).
int(Text) -> list_to_integer(Text).
field(Name, Value) -> io_lib:format("\"~s\":~p", [Name, Value]).

%% A histogram of 1,024 steps in each power of two, so that a value is off by at most a thousandth.

histogram() -> counters:new(32 * 1024, []).

record(H, Value) -> counters:add(H, slot(max(Value, 0), 0) + 1, 1).

slot(Value, 0) when Value < 2048 -> Value;
slot(Value, Shift) when Value < 2048 -> Shift * 1024 + Value;
slot(Value, Shift) -> slot(Value bsr 1, Shift + 1).

value(Slot) when Slot < 2048 -> Slot;
value(Slot) -> Shift = Slot div 1024 - 1, (Slot - Shift * 1024) bsl Shift.

samples(H) ->
    Pairs = [io_lib:format("[~b,~b]", [value(S), N]) || S <- lists:seq(0, 32 * 1024 - 1), N <- [counters:get(H, S + 1)], N > 0],
    ["\"samples\":[", lists:join(",", Pairs), "]"].
