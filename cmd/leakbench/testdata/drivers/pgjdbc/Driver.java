import java.sql.DriverManager;
import java.sql.SQLException;

class Driver {
    static final String REFUSED = "E\0\0\0\45SFATAL\0C28P01\0Mno such password\0\0";
    static String address;
    static int calls;

    /** Starts a server that refuses each password and keeps the connection open. */
    static void setup() throws Exception {
        address = "jdbc:postgresql://127.0.0.1:" + Main.listen(request -> REFUSED) + "/d?user=u&password=p&sslmode=disable&gssEncMode=disable";
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
