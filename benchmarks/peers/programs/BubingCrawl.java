import it.unimi.di.law.bubing.Agent;
import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.Query;
import javax.management.RuntimeMBeanException;

/** Runs a BUbiNG agent, which never ends by itself, until it has that many pages, or has got none for a minute. */
public class BubingCrawl {
    public static void main(String[] words) throws Exception {
        long pages = Long.parseLong(words[0]);
        Thread watch = new Thread(() -> watch(pages));
        watch.setDaemon(true);
        watch.start();
        System.setProperty(Agent.JMX_REMOTE_PORT_SYSTEM_PROPERTY, "0"); // it is wanted, but nobody connects
        Agent.main(new String[] {"--new", "-h", "127.0.0.1", "-g", "peer", "-P", words[1], "agent"});
    }

    private static void watch(long pages) {
        try {
            MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
            var agents = Query.isInstanceOf(Query.value(Agent.class.getName()));
            long before = 0;
            for (int idle = 0; before < pages && idle < 60; idle++) {
                Thread.sleep(1000);
                for (ObjectName agent : beans.queryNames(null, agents)) {
                    long got = pages(beans, agent);
                    if (got > before) idle = 0;
                    before = got;
                }
            }
            for (ObjectName agent : beans.queryNames(null, agents)) beans.invoke(agent, "stop", null, null);
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static long pages(MBeanServer beans, ObjectName agent) throws Exception {
        try {
            return (Long) beans.getAttribute(agent, "archetypes2xx"); // different ones
        } catch (RuntimeMBeanException early) {
            return 0; // it is registered before it has counters
        }
    }
}
