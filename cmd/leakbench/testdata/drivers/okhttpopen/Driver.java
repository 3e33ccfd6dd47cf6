import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.MessageDigest;
import java.util.Base64;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;

class Driver {
    static OkHttpClient client = new OkHttpClient();
    static String address;
    static int calls;

    /** Starts a server that takes each web socket and keeps it open. */
    static void setup() throws Exception {
        var server = ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0));
        address = "http://127.0.0.1:" + server.socket().getLocalPort() + "/";
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
                var request = new String(buffer.array(), 0, buffer.position());
                if (request.startsWith("GET ")) {
                    client.write(ByteBuffer.wrap(answer(request).getBytes()));
                }
            }
            selector.selectedKeys().clear();
        }
    }

    static String answer(String request) throws Exception {
        var key = request.replaceAll("(?s).*Sec-WebSocket-Key: ([^\r]*).*", "$1");
        var hash = MessageDigest.getInstance("SHA-1").digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes());
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + Base64.getEncoder().encodeToString(hash) + "\r\n\r\n";
    }

    /** Opens a web socket with a listener that fails, at every second call. */
    static void trigger() {
        if (++calls % 2 == 0) {
            client.newWebSocket(new Request.Builder().url(address).build(), new WebSocketListener() {
                @Override
                public void onOpen(WebSocket socket, Response response) {
                    throw new IllegalStateException("the listener is not ready");
                }
            });
        }
    }
}
