import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.WebSocketListener;

class Driver {
    static OkHttpClient client = new OkHttpClient();
    static String address;
    static int calls;

    /** Starts a server that upgrades each connection to another protocol and keeps it open. */
    static void setup() throws Exception {
        address = "http://127.0.0.1:" + Main.listen(request -> "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n");
    }

    /** Opens a web socket, which fails, at every second call. */
    static void trigger() {
        if (++calls % 2 == 0) {
            client.newWebSocket(new Request.Builder().url(address).build(), new WebSocketListener() { });
        }
    }
}
