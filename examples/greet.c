/* greet.c - a plug-in with the node kind `greet` for agent files. See greet.yaml.
 *
 *     cc -shared -fPIC greet.c -o greet.so          -I DIR with Pawl's headers, if they are not installed
 */
#include <pawl/plugin.h>

#include <stdio.h>

/* Called on a worker thread; {"with": what the node says behind `greet:`}. What is replied goes to `text:`. */
static pawl_code greet(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *who = pawl_value_string(pawl_value_get(job->args, "with"));
    char text[256];

    (void)arg;
    if (who == NULL || *who == '\0')
        return pawl_reply_fail(reply, PAWL_INVALID, "greet: nobody is named");
    snprintf(text, sizeof text, "Good day, %.200s.", who);
    return pawl_reply_string(reply, text);
}

pawl_code pawl_plugin_open(pawl_plugin *p, pawl_err *err)
{
    return pawl_plugin_kind(p, "greet", greet, NULL, PAWL_CLASS_PURE, err);
}
