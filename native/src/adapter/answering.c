#include "adapter/answering.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

#include "adapter/records.h"
#include "base/descriptor.h"
#include "base/events.h"

enum state { STARTING, READY, LISTENING, ENDED };

/* `ready` has no context, so there is one of these. The adapter's thread writes it before it changes the
 * state. */
static struct {
    const struct pl_adapter *adapter;
    struct pl_adapter_settings settings;
    struct pl_adapter_error error;
    char versions[256];
    char settings_json[1024];
    unsigned port;
    int wake_fd;
    _Atomic int state;
} end;

static void enter(enum state state)
{
    atomic_store(&end.state, (int)state);
    pl_wake(end.wake_fd);
}

static void on_ready(unsigned port)
{
    if (atomic_load(&end.state) != STARTING)
        return;
    if (end.adapter->describe != NULL)
        end.adapter->describe(NULL, end.versions, sizeof end.versions, end.settings_json,
                              sizeof end.settings_json);
    end.port = port;
    enter(READY);
}

static void *answer(void *nothing)
{
    if (end.adapter->answer(&end.settings, on_ready, &end.error) != 0)
        (void)pl_adapter_fail(&end.error, "start", "the server failed without a reason");
    else
        (void)pl_adapter_fail(&end.error, "exit", "the server ended by itself");
    enter(ENDED);
    return nothing;
}

/* Until the adapter's thread or the controller ends it. The reason, NULL after `stop`. */
static const char *serve(struct pl_events *events, bool *written)
{
    while (*written && atomic_load(&end.state) != ENDED) {
        struct pl_wait wait = {.deadline_ns = PL_NEVER, .fds = {end.wake_fd, -1}};
        enum pl_command command = pl_events_wait(events, &wait);
        if (wait.ready[0])
            pl_clear_wake(end.wake_fd);
        if (command == PL_COMMAND_STOP)
            return NULL;
        if (pl_command_ends(command))
            return pl_command_reason(command);
        if (atomic_load(&end.state) == READY) {
            *written = pl_adapter_write_listening(end.port, end.versions, end.settings_json);
            int ready = READY; /* unless it has ended meanwhile */
            (void)atomic_compare_exchange_strong(&end.state, &ready, LISTENING);
        }
    }
    return end.error.text;
}

static bool start(struct pl_events **events, struct pl_adapter_error *error)
{
    struct pl_error cause = {0};
    pthread_t thread;
    end.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *events = pl_events_open("stdin", &cause);
    int failure = end.wake_fd < 0 ? errno : *events == NULL ? ENOMEM : 0;
    if (failure == 0)
        failure = pthread_create(&thread, NULL, answer, NULL);
    if (failure == 0)
        return true;
    return pl_adapter_failed(error, "limit", "no thread or descriptor for the server: %s", strerror(failure));
}

enum pl_status pl_answering_run(const struct pl_adapter *adapter, const struct pl_plan *plan)
{
    struct pl_adapter_error error = {0};
    struct pl_events *events = NULL;
    if (adapter->answer == NULL) {
        (void)pl_adapter_fail(&error, "contract", "%s has no answer()", plan->name);
        return pl_adapter_write_error(plan->name, &error);
    }
    end.adapter = adapter;
    end.settings = pl_plan_settings(plan, 0);
    if (!start(&events, &error))
        return pl_adapter_write_error(plan->name, &error);
    bool written = true;
    const char *reason = serve(events, &written);
    enum pl_status status = reason == NULL ? PL_OK : PL_ENDED;
    if (atomic_load(&end.state) == ENDED)
        status = pl_adapter_write_error(plan->name, &end.error);
    written = pl_adapter_write_answer_result(reason) && written;
    return written ? status : PL_RESOURCES;
}
