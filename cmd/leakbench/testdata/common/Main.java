import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The main of cases of the JVM: a pool and a timer as healthy ground, and the number of triggers. */
public class Main {
    public static void main(String[] args) throws Exception {
        var triggers = new AtomicLong();
        var pool = Executors.newFixedThreadPool(4);
        Executors.newSingleThreadScheduledExecutor().scheduleAtFixedRate(() -> pool.submit(() -> { }), 0, 100, TimeUnit.MILLISECONDS);
        Driver.setup();
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[args.length - 1])), 0);
        server.createContext("/triggers", exchange -> {
            var answer = Long.toString(triggers.get()).getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
        Thread.sleep(1000);
        while (true) {
            for (int i = 0; i < 2; i++) {
                Driver.trigger();
                triggers.incrementAndGet();
            }
            Thread.sleep(200);
        }
    }
}
