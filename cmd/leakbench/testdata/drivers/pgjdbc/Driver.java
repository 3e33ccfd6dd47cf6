import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.sql.DriverManager;
import java.sql.SQLException;

class Driver {
    static final String REFUSED = "E\0\0\0\45SFATAL\0C28P01\0Mno such password\0\0";
    static String address;
    static int calls;

    /** Starts a server that refuses each password and keeps the connection open. */
    static void setup() throws Exception {
        var server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        address = "jdbc:postgresql://127.0.0.1:" + server.socket().getLocalPort() + "/d?user=u&password=p&sslmode=disable&gssEncMode=disable";
        new Thread(() -> {
            try {
                serve(server);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }).start();
    }

    /** Answers each connection's first request, and closes those that their client closed. */
    static void serve(ServerSocketChannel server) throws Exception {
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
                client.write(ByteBuffer.wrap(REFUSED.getBytes()));
            }
            selector.selectedKeys().clear();
        }
    }

    /** Connects, which fails, at every second call. */
    static void trigger() {
        if (++calls % 2 != 0) {
            return;
        }
        try {
            DriverManager.getConnection(address).close();
        } catch (SQLException expected) {
            // The server refuses the password.
        }
    }
}
