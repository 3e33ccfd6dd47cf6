import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
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
        address = "http://127.0.0.1:" + Main.listen(Driver::accept);
    }

    static String accept(String request) {
        if (!request.startsWith("GET ")) {
            return "";
        }
        var key = request.replaceAll("(?s).*Sec-WebSocket-Key: ([^\r]*).*", "$1");
        try {
            var hash = MessageDigest.getInstance("SHA-1").digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes());
            return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + Base64.getEncoder().encodeToString(hash) + "\r\n\r\n";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
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
