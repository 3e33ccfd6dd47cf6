import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

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

    /** Starts a server that answers what each connection sends, closes it when its client does, and returns its port. */
    static int listen(UnaryOperator<String> answer) throws Exception {
        var server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        new Thread(() -> {
            try {
                serve(server, answer);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }).start();
        return server.socket().getLocalPort();
    }

    private static void serve(ServerSocketChannel server, UnaryOperator<String> answer) throws Exception {
        var selector = Selector.open();
        server.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
        var buffer = ByteBuffer.allocate(4096);
        while (true) {
            selector.select();
            for (var key : selector.selectedKeys()) {
                if (key.isAcceptable()) {
                    server.accept().configureBlocking(false).register(selector, SelectionKey.OP_READ);
                    continue;
                }
                var client = (SocketChannel) key.channel();
                if (client.read(buffer.clear()) < 0) {
                    client.close();
                    continue;
                }
                client.write(ByteBuffer.wrap(answer.apply(new String(buffer.array(), 0, buffer.position())).getBytes()));
            }
            selector.selectedKeys().clear();
        }
    }
}
